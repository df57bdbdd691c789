"""Comparing results with their golden: what differs, where, and whether rounding explains it.

    >>> import numpy as np, npu_quant
    >>> x = np.array([[0, 1, -2, 4]], dtype=np.float16)
    >>> y = np.array([[0, 32, -62, 127]], dtype=np.int8)
    >>> npu_quant.golden.compare(y, op="npu_dynamic_quant", inputs={"input": x}).rung
    'different'

docs/golden.md defines the rungs, the distances and the formulas;
``npu_quant.testing.assert_golden`` is the same as an assertion.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .._names import dir_of

if TYPE_CHECKING:
    from ..files import FileError, FileSource, list_arrays, load
    from .api import Comparison, Explanation, compare, explain
    from .explanation_results import VariantResult
    from .folders import Alone, FolderComparison, FolderRow, compare_folders
    from .measure.losses import Loss, loss
    from .operators import Variant, list_variants
    from .results import (
        Concentration,
        Element,
        Metrics,
        OutputComparison,
        Rung,
        Tolerance,
        VariantMatch,
        Where,
    )
    from .tie_results import Ties

__all__ = [
    "Alone",
    "Comparison",
    "Concentration",
    "Element",
    "Explanation",
    "FileError",
    "FileSource",
    "FolderComparison",
    "FolderRow",
    "Loss",
    "Metrics",
    "OutputComparison",
    "Rung",
    "Ties",
    "Tolerance",
    "Variant",
    "VariantMatch",
    "VariantResult",
    "Where",
    "compare",
    "compare_folders",
    "explain",
    "list_arrays",
    "list_variants",
    "load",
    "loss",
]

__dir__ = dir_of(__name__)

# Imported when they are asked for: the readers of files are used where nothing is compared.
_PLACES = {
    "api": ("Comparison", "Explanation", "compare", "explain"),
    "folders": ("Alone", "FolderComparison", "FolderRow", "compare_folders"),
    "measure.losses": ("Loss", "loss"),
    "operators": ("Variant", "list_variants"),
    "tie_results": ("Ties",),
    "explanation_results": ("VariantResult",),
    ".files": ("FileError", "FileSource", "list_arrays", "load"),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}

if not TYPE_CHECKING:  # to a type checker a name that is not here is a mistake

    def __getattr__(name: str) -> Any:
        """Import a name from where it is."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        place = importlib.import_module(f".{_PLACE_OF.get(name, 'results')}", __name__)
        thing = globals()[name] = getattr(place, name)
        return thing
