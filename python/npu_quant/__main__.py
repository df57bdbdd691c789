"""``python -m npu_quant`` is the command ``npu-quant``."""

from .cli import main

if __name__ == "__main__":
    raise SystemExit(main())
