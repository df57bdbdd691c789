"""The operators as a comparison knows them: what each gives, by which formula, and which others.

An operator is a row of registry.OPERATORS. Its page has its model, which tells what stands behind
the outputs, and its formulas: steps (formula.py, steps.py) that on float32 are what outputs may
follow to the bit, and on float64, without the one that rounds, the number a tie is judged by.
"""

from .formula import Variant
from .model import Model, Part
from .registry import (
    inputs_of,
    list_variants,
    model_of,
    name_of,
    operator_of,
    operators,
    outputs_of,
)

__all__ = [
    "Model",
    "Part",
    "Variant",
    "inputs_of",
    "list_variants",
    "model_of",
    "name_of",
    "operator_of",
    "operators",
    "outputs_of",
]
