"""Dump trees as msprobe writes them, made by hand: arrays, dump.json and construct.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np


class Dump:
    """A folder of a rank, to which calls are added in the order of their execution."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data: dict[str, Any] = {}
        self.parents: dict[str, str | None] = {}
        (folder / "dump_tensor_data").mkdir(parents=True)

    def tensor(self, name: str, array: np.ndarray) -> dict[str, Any]:
        """Save an array, and return what dump.json has of it."""
        np.save(self.folder / "dump_tensor_data" / f"{name}.npy", array)
        return {
            "type": "torch.Tensor",
            "dtype": f"torch.{array.dtype}",
            "shape": list(array.shape),
            "Max": 1.0,
            "requires_grad": False,
            "data_name": f"{name}.npy",
        }

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self.tensor(name, value)
        if isinstance(value, np.dtype):
            return {"type": "torch.dtype", "value": f"torch.{value}"}
        return None if value is None else {"type": type(value).__name__, "value": value}

    def call(
        self,
        name: str,
        arguments: tuple[Any, ...],
        outputs: tuple[Any, ...],
        parent: str | None = None,
        **named: Any,
    ) -> None:
        """Add a call; a module's may get its outputs later, once more by its name."""
        record = self.data.setdefault(name, {})
        if arguments or named:
            values = enumerate(arguments)
            record["input_args"] = [self._value(f"{name}.input.{i}", v) for i, v in values]
            record["input_kwargs"] = {
                key: self._value(f"{name}.kwargs.{key}", v) for key, v in named.items()
            }
        if outputs:
            values = enumerate(outputs)
            record["output"] = [self._value(f"{name}.output.{i}", v) for i, v in values]
        self.parents.setdefault(name, parent)

    def write(self) -> None:
        """Write dump.json and construct.json."""
        about = {"task": "tensor", "level": "mix", "framework": "pytorch"}
        about["dump_data_dir"] = "/where/it/was/made/dump_tensor_data"
        (self.folder / "dump.json").write_text(json.dumps({**about, "data": self.data}))
        (self.folder / "construct.json").write_text(json.dumps(self.parents))
        (self.folder / "stack.json").write_text("{}")
