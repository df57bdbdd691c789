"""What quantize and check say: to a program as a dict, to a person as text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .._shown import plain
from .._text import clean
from .findings import Finding, has_error
from .schemes import FLOAT


@dataclass
class Layer:
    """A module that was quantized."""

    name: str
    type: str
    shape: tuple[int, int]
    zero_rows: int | None = None
    sqnr_db: float | None = None
    max_error: float | None = None


def _short(report: QuantizeReport | CheckReport) -> str:
    """Return a report's first line, for a prompt: some have 45,000 layers."""
    first, *_ = str(report).splitlines()
    return f"<{type(report).__name__} {clean(first, 300)}>"


@dataclass(repr=False)
class QuantizeReport:
    """What :func:`npu_quant.checkpoint.quantize` did, or would do."""

    scheme: str
    format: str
    model_type: str
    params_dtype: str
    dry_run: bool
    source_bytes: int
    written_bytes: int
    """Of all shards."""
    left_float: list[dict[str, str]]
    """Linears that are left FLOAT, and why; then matrices that are not known to be Linears."""
    layers: list[Layer]
    shards: list[dict[str, Any]]
    copied_bytes: int
    """Of the files that are copied."""
    warnings: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    """Of what was written, when it was read back and checked."""
    resumed: int = 0
    """Shards that were taken over from a former run."""
    resumed_bytes: int = 0
    """Bytes of the source that they, and pieces of other shards, were made of."""
    is_finished_before: bool = False
    """Whether all was there, from a run that finished."""
    seconds: float | None = None
    peak_rss_bytes: int | None = None

    @property
    def passed(self) -> bool:
        """Whether what was written is what was meant."""
        return not has_error(self.findings)

    @property
    def types(self) -> dict[str, int]:
        """How many modules each type has, FLOAT Linears too."""
        count = Counter(layer.type for layer in self.layers)
        count[FLOAT] = len(self.left_float)
        return {type: n for type, n in count.items() if n}

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON has it."""
        layers = [vars(layer) for layer in self.layers]
        if self.dry_run:
            measured = ("zero_rows", "sqnr_db", "max_error")
            layers = [{k: v for k, v in layer.items() if k not in measured} for layer in layers]
        data = {
            "command": "quantize",
            "scheme": self.scheme,
            "format": self.format,
            "model_type": self.model_type,
            "params_dtype": self.params_dtype,
            "dry_run": self.dry_run,
            "source_bytes": self.source_bytes,
            "written_bytes": self.written_bytes,
            "types": self.types,
            "float": self.left_float,
            "layers": layers,
            "shards": self.shards,
            "resumed": self.resumed,
            "resumed_bytes": self.resumed_bytes,
            "warnings": self.warnings,
        }
        if not self.dry_run:
            data |= {"passed": self.passed, "findings": [f._asdict() for f in self.findings]}
            data |= {"is_finished_before": self.is_finished_before}
            data |= {"seconds": self.seconds, "peak_rss_bytes": self.peak_rss_bytes}
        result: dict[str, Any] = plain(data)
        return result

    def __str__(self) -> str:
        from .report_text import quantize_text

        return quantize_text(self)

    def __repr__(self) -> str:
        return _short(self)


UNEXPLAINED = ("searched", "other", "transformed")
"""What is said in place of a recipe."""


def ratio_text(ratio: tuple[float, float]) -> str:
    """Write the least and the greatest ratio: 0.00709, or 0.00612 to 0.00787."""
    return " to ".join(dict.fromkeys(f"{r:.3g}" for r in ratio))


@dataclass
class CheckedLayer:
    """A quantized module that was checked."""

    name: str
    type: str
    shape: tuple[int, int]
    recipe: str | None = None
    codes_different: int | None = None
    """From the recipe; where there is none, from rint(w / scale) by the scales that are there."""
    scales_different: int | None = None
    """From the recipe; where there is none, from the nearest."""
    sqnr_db: float | None = None
    max_error: float | None = None
    cosine: float | None = None
    scale_ratio: tuple[float, float] | None = None
    """The least and the greatest scale / amax, where no recipe fits."""
    first: tuple[int, int] | None = None
    """Row and column of the first difference."""


@dataclass(repr=False)
class CheckReport:
    """What :func:`npu_quant.checkpoint.check` found."""

    model: str
    format: str
    model_type: str
    findings: list[Finding]
    types: dict[str, int]
    recipe: dict[str, str | None]
    layers: list[CheckedLayer]
    has_original: bool = False
    notes: list[str] = field(default_factory=list)
    """What the check could not see."""

    @property
    def passed(self) -> bool:
        """Whether no error was found."""
        return not has_error(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON has it."""
        keys = ["name", "type", "shape"]
        if self.has_original:
            keys += ["recipe", "codes_different", "scales_different"]
            keys += ["sqnr_db", "max_error", "cosine", "scale_ratio"]
        data = {
            "command": "check",
            "model": self.model,
            "format": self.format,
            "model_type": self.model_type,
            "passed": self.passed,
            "findings": [finding._asdict() for finding in self.findings],
            "notes": self.notes,
            "types": self.types,
            "recipe": self.recipe,
            "layers": [{key: vars(layer)[key] for key in keys} for layer in self.layers],
        }
        result: dict[str, Any] = plain(data)
        return result

    def __str__(self) -> str:
        from .check_text import text_of

        return text_of(self)

    def __repr__(self) -> str:
        return _short(self)
