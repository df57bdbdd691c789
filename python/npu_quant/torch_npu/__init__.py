"""Code that is written for Ascend runs on a machine without an NPU.

``install()`` is for code that asks for torch_npu's operators::

    import npu_quant.torch_npu
    npu_quant.torch_npu.install()

    import torch, torch_npu                                    # any module may do that from now on
    y, scale = torch_npu.npu_dynamic_quant(torch.randn(4, 64))
    y, scale = torch.ops.npu.npu_dynamic_quant(torch.randn(4, 64))      # the same operator

``simulate("Ascend910B1")`` is for code that asks for the device, too: ``x.npu()``,
``device="npu"``, ``torch.npu.synchronize()``. The device is an alias of the CPU.

Without a change of the code, ``python -m npu_quant.torch_npu --simulate Ascend910B1 script.py``, or
``pytest -p npu_quant.torch_npu_plugin --npu-simulate Ascend910B1``. docs/torch.md has the details.

Nothing of this is imported by ``import npu_quant``; torch is, by these functions.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from .._names import dir_of
from . import socs

__all__ = ["install", "simulate"]

__dir__ = dir_of(__name__)

_NAME = "torch_npu"
_FOLDER = Path(__file__).parent / "stand_in"


def install() -> ModuleType:
    """Make ``import torch_npu`` and ``torch.ops.npu`` those of npu_quant, in this process.

    There is no device: ``torch.npu.is_available()`` is False, and ``x.to("npu")`` raises as torch
    does without torch_npu. A second call does nothing.

    Returns:
        The module that ``import torch_npu`` gives from now on.

    Raises:
        ImportError: torch is not installed, or the real torch_npu is: it is never shadowed.

    Example:
        >>> import npu_quant.torch_npu
        >>> torch_npu = npu_quant.torch_npu.install()  # doctest: +SKIP
        >>> torch_npu.npu_quantize(x, scales, None, torch.qint8)  # doctest: +SKIP
    """
    there = sys.modules.get(_NAME)
    if there is not None and getattr(there, "__file__", None) == str(_FOLDER / "__init__.py"):
        return there
    if _NAME in sys.modules or importlib.util.find_spec(_NAME) is not None:
        is_installed = there is None or getattr(there, "__file__", None) is not None
        raise ImportError(
            "torch_npu is there already, and npu_quant does not take its place. "
            + (
                "Its own operators take CPU tensors: npu_quant.npu_dynamic_quant(x.cpu())."
                if is_installed
                else "It is no file: leave out what puts a mock there, such as a conftest.py."
            )
        )
    try:
        importlib.import_module("torch")
    except ModuleNotFoundError:
        raise ImportError(
            "npu_quant.torch_npu needs torch: pip install torch, in its build for the CPU."
        ) from None
    return _install()


def _imported(name: str) -> Any:
    """Import what needs torch, which type checkers are not to follow from here."""
    return importlib.import_module(f"{__name__}.{name}")


def _install() -> ModuleType:
    _imported("library").register()
    spec = importlib.util.spec_from_file_location(
        _NAME, _FOLDER / "__init__.py", submodule_search_locations=[str(_FOLDER)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[_NAME]
        raise
    torch: Any = sys.modules["torch"]
    sys.modules["torch.npu"] = torch.npu = module.npu
    sys.modules["torch.npu.amp"] = module.npu.amp
    return module


def simulate(soc: str) -> ModuleType:
    """Install, and make a device "npu" that is an alias of the CPU, for the rest of the process.

    Strings, ``torch.device``, ``.npu()``, ``.to()``, factories, modules, ``with torch.device``,
    autocast and ``torch.load`` take "npu" and "npu:0"; ``torch.npu`` has one device whose streams
    and events have no effect. Tensors stay on the CPU and say so: ``x.device.type`` is "cpu",
    though ``x.is_npu`` holds. A move gives the tensor itself. Threads that Python starts know the
    device, new processes do if they are forked. Call it on the main thread, before others are
    started, and before others register operators. A second call changes the name of the chip, and
    lets a thread that a C library has started know the device.

    Args:
        soc: the name of a chip, such as "Ascend910B1", or of a series, such as "Ascend910B". It
            decides what ``torch.npu.get_device_name()`` and ``get_soc_version()`` say, and nothing
            else: the arithmetic is :func:`npu_quant.numerics`'s.

    Returns:
        The module that ``import torch_npu`` gives.

    Raises:
        ParamError: the name is of no chip that torch_npu knows.
        ImportError: as of :func:`install`.
        RuntimeError: this is not the main thread.
    """
    if not isinstance(soc, str):
        raise TypeError(f"soc has type {type(soc).__name__}, expected a str.")
    chip = socs.named(soc)
    module = install()
    _imported("device").simulate()
    socs.set_simulated(chip)
    return module
