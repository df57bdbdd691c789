"""What each quantized module was judged by, and why some were not."""

from __future__ import annotations

from collections.abc import Container

from .check_tensors import has_rules
from .quantized import QuantizedModel
from .reports import CODES, SCALES, SHAPES, CheckedLayer


def note_states(
    model: QuantizedModel,
    layers: list[CheckedLayer],
    compared: Container[str],
    *,
    has_original: bool,
) -> dict[str, str]:
    """Note in each layer what it was judged by; return the modules that were not, and why.

    Args:
        model: the model, after all its rules.
        layers: its quantized modules.
        compared: those whose codes were compared with the original's.
        has_original: whether codes are to be compared: a module whose codes are not is not judged.
    """
    for module, type in model.types.items():
        if not has_rules(model, type):
            model.leave(module, f"{type}: no rule here knows the tensors of this type")
    result = dict(model.unjudged)
    for layer in layers:
        if layer.name in result:
            continue
        parts = [model.part(layer.name, part) for part in ("weight_scale", "deq_scale")]
        facts = {CODES: layer.name in compared, SCALES: any(parts), SHAPES: True}
        layer.judged = tuple(by for by, is_so in facts.items() if is_so)
        if has_original and layer.name not in compared:
            result[layer.name] = f"{layer.type}: its codes cannot be compared with the original's"
    return result
