"""A quantized model as it stands in its folder, read as far as it can be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .config import Config
from .folder import Tensor
from .names import words
from .schemes import ASCEND, FLOAT

PARTS = words("""
    weight weight_scale weight_offset scale_bias deq_scale quant_bias input_scale input_offset
""")
"""The last names of the tensors that a quantized module may have."""


@dataclass
class QuantizedModel:
    """A quantized model."""

    folder: Path
    format: str
    config: Config
    tensors: dict[str, Tensor]
    """All whose headers can be read, by name."""
    keys: dict[str, Any] = field(default_factory=dict)
    """quant_model_description.json, with the prefix that tensors have."""
    is_typed: bool = True
    """Whether it is known which type each module has: what says so could be read."""
    has_config: bool = True
    """Whether config.json could be read."""
    damaged: set[str] = field(default_factory=set)
    """Shards whose elements cannot be read."""
    lost: set[str] = field(default_factory=set)
    """Tensors that the index puts in files that cannot be read."""
    types: dict[str, str] = field(default_factory=dict)
    """Of each module that has a type other than FLOAT."""
    bad: set[str] = field(default_factory=set)
    """Tensors whose dtype or shape is wrong, so that their elements mean nothing."""
    unjudged: dict[str, str] = field(default_factory=dict)
    """Modules that no rule here judges, whatever their tensors hold, and why."""

    @property
    def params(self) -> str:
        """The dtype that consumers read scales in."""
        return self.config.params

    @property
    def is_ascend(self) -> bool:
        """Whether it is described in AscendV1."""
        return self.format == ASCEND

    def leave(self, module: str, why: str) -> None:
        """Note that no rule judges a module; the first reason stays."""
        self.unjudged.setdefault(module, why)

    def is_readable(self, name: str) -> bool:
        """Say whether there is a tensor whose elements can be read, and mean what they should."""
        tensor = self.tensors.get(name)
        return tensor is not None and tensor.file not in self.damaged and name not in self.bad

    def matrix(self, module: str) -> Tensor | None:
        """Return the codes of a module, as they are stored."""
        packed = self.tensors.get(f"{module}.weight_packed")
        return self.tensors.get(f"{module}.weight", packed)

    def part(self, module: str, part: str) -> Tensor | None:
        """Return a readable tensor of a module."""
        name = f"{module}.{part}"
        return self.tensors[name] if self.is_readable(name) else None

    def type_of(self, name: str) -> str:
        """Return the type of a tensor."""
        module, _, last = name.rpartition(".")
        return self.types.get(module, FLOAT) if last in PARTS else FLOAT
