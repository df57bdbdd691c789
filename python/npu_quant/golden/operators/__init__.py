"""The operators as a comparison knows them: a model of each, and its named formulas.

A model (one module per family) says what stands behind the outputs: the numbers before rounding,
and k, how far from a tie roundings may take them. The formulas (formulas_<family>.py, made of the
steps in steps_*.py) are what outputs may follow to the bit instead of the reference.
"""

from .formula import Variant
from .matching import matching_variants
from .model import Model, Part
from .registry import applicable, list_variants, model_of, name_of, operators, outputs_of

__all__ = [
    "Model",
    "Part",
    "Variant",
    "applicable",
    "list_variants",
    "matching_variants",
    "model_of",
    "name_of",
    "operators",
    "outputs_of",
]
