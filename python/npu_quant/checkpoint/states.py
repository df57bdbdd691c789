"""What each quantized module was judged by, and why some were not."""

from __future__ import annotations

from collections.abc import Container

from .check_report import CODES, SCALES, SHAPES, TRANSFORMED, CheckedLayer
from .check_tensors import has_rules
from .quantized import QuantizedModel
from .reports import Findings

_TRANSFORMED = "the original is not what was quantized: it was smoothed or rotated, or is another"


def note_states(
    model: QuantizedModel,
    layers: list[CheckedLayer],
    compared: Container[str],
    found: Findings,
    *,
    has_original: bool,
) -> dict[str, str]:
    """Note in each layer what it was judged by; return the modules that were not, and why.

    Args:
        model: the model, after all its rules.
        layers: its quantized modules.
        compared: those whose codes were compared with the original's.
        found: what is wrong.
        has_original: whether codes are to be compared: a module whose codes are not is not judged.
    """
    for module, type in model.types.items():
        if not has_rules(model, type):
            model.leave(module, f"{type}: no rule here knows the tensors of this type")
    wrong = {finding.name for finding in found if finding.rule == "codes"}
    result = dict(model.unjudged)
    for layer in layers:
        name = layer.name
        if name in result:
            continue
        parts = [model.part(name, part) for part in ("weight_scale", "deq_scale")]
        is_other = layer.recipe == TRANSFORMED and name not in wrong
        facts = {CODES: name in compared and not is_other, SCALES: any(parts), SHAPES: True}
        layer.judged = tuple(by for by, is_so in facts.items() if is_so)
        if has_original and not facts[CODES]:
            why = f"{layer.type}: its codes cannot be compared with the original's"
            result[name] = _TRANSFORMED if is_other else why
    return result
