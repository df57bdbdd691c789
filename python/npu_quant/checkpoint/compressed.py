"""The types that config.json of compressed-tensors gives to modules, by names and by patterns.

A pattern is ``re:`` and a regular expression, which consumers give to `re.match` of Python. With
some it takes for ever, so a process of its own tries them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .._text import clean
from . import names
from .folder import FLOATS
from .quantized import QuantizedModel
from .reports import Findings

SECONDS, MOST_SECONDS = 1, 20
"""Of CPU time: for a pattern and all modules, and for all patterns."""
_MEMORY = 2 << 30
_TRY = """
import json, re, resource, signal, sys
patterns, modules, seconds, most, memory = json.load(sys.stdin)
resource.setrlimit(resource.RLIMIT_CPU, (most, most))
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
def end(*_):
    raise TimeoutError
signal.signal(signal.SIGVTALRM, end)
for pattern in patterns:
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        fits = re.compile(pattern).match
        said = [m for m in modules if fits(m)]
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except (TimeoutError, MemoryError):
        said = "takes too long to try"
    except (re.error, RecursionError, OverflowError) as error:
        said = f"is no regular expression: {error}"
    print(json.dumps(said), flush=True)
"""


def fitting(
    patterns: Iterable[str], modules: Sequence[str]
) -> tuple[dict[str, set[str]], dict[str, str]]:
    """Try names and patterns on modules.

    Returns:
        The modules that each fits, and of those that cannot be tried what is wrong with them.
    """
    known = set(modules)
    fits = {name: {name} & known for name in patterns}
    expressions = [name for name in fits if name.startswith("re:")]
    if not expressions:
        return fits, {}
    given = [name.removeprefix("re:") for name in expressions]
    data = json.dumps([given, [*modules], SECONDS, MOST_SECONDS, _MEMORY])
    command = [sys.executable, "-I", "-S", "-c", _TRY]
    done = subprocess.run(command, input=data, capture_output=True, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    answers += ["takes too long to try, or one before it"] * (len(expressions) - len(answers))
    said = dict(zip(expressions, answers, strict=True))
    faults = {name: answer for name, answer in said.items() if isinstance(answer, str)}
    return fits | {name: set(said[name]) for name in expressions if name not in faults}, faults


def compressed_types(model: QuantizedModel, found: Findings) -> dict[str, str]:
    """Return the types that quantization_config gives to the modules that have matrices."""
    said = model.config.quantization or {}
    ignore = _strings(said.get("ignore"), "ignore", found)
    groups = _groups(said.get("config_groups"), found)
    modules = _with_matrices(model)
    targets = [target for group in groups for target in group.targets]
    fits, faults = fitting([*ignore, *targets], modules)
    for pattern, text in faults.items():
        what = "ignore" if pattern in ignore else "targets"
        text = f"{clean(pattern, 60)} of {what} {clean(text, 100)}: vLLM tries it on every layer"
        found.error("pattern", "config.json", f"{text}, and stops or hangs")
    model.is_typed = not faults  # or nobody knows which modules they name
    ignored: set[str] = set().union(*(fits.get(name, ()) for name in ignore))
    of_linears = next((group for group in groups if "Linear" in group.targets), None)
    result: dict[str, str] = {}
    for module in modules:
        by_name = (g for g in groups if any(module in fits.get(t, ()) for t in g.targets))
        group = next(by_name, of_linears)
        if module in ignored or group is None:
            continue
        if not _is_float(model, module):
            result[module] = group.type
        elif model.is_typed:
            _not_ignored(module, found)
    return result


class _Group(NamedTuple):
    """Modules that are quantized alike."""

    type: str
    targets: list[str]


def _groups(given: Any, found: Findings) -> list[_Group]:
    groups = [*given.values()] if isinstance(given, dict) else []
    if not groups:
        found.error("config", "config.json", "quantization_config has no config_groups to read")
    result = []
    for number, group in enumerate(groups):
        if not isinstance(group, dict):
            text = f"group {number} of config_groups is not an object: vLLM cannot read it"
            found.error("config", "config.json", text)
            continue
        if (type := _type_of(group)).startswith("unknown"):
            text = f"group {number} is {type}: no Ascend consumer reads it as compressed-tensors"
            found.error("unknown-type", "config.json", text)
        targets = _strings(group.get("targets"), f"targets of group {number}", found)
        result.append(_Group(type, targets))
    return result


def _strings(value: Any, what: str, found: Findings) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        text = f"{what} in quantization_config is not a list of names: vLLM cannot read it"
        found.error("config", "config.json", text)
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _with_matrices(model: QuantizedModel) -> list[str]:
    """The modules that a group may be of; a head that is tied has no tensor."""
    matrices = [
        module
        for name, tensor in model.tensors.items()
        if (module := name.removesuffix(".weight")) != name
        and len(tensor.shape) == 2
        and not names.is_embedding_or_norm(module)
    ]
    head = f"{names.HEAD}.weight"
    if head not in model.tensors and head not in model.lost and model.config.has_tied_head:
        matrices.append(names.HEAD)
    return matrices


def _is_float(model: QuantizedModel, module: str) -> bool:
    """Say whether a module has floats and no scales; a tied head has what the embedding has."""
    weight, scale = model.tensors.get(f"{module}.weight"), f"{module}.weight_scale"
    is_scaled = scale in model.tensors or scale in model.lost
    return not is_scaled and (weight is None or weight.kind in FLOATS)


def _not_ignored(module: str, found: Findings) -> None:
    text = "is not quantized, but ignore of quantization_config does not name it"
    if names.is_linear(module) or names.last_of(module) == names.HEAD:
        text += ": consumers multiply by a scale that is not there, and compute NaN or anything"
        found.error("ignore", module, text)
    else:
        text += ": if it is a Linear, consumers multiply by a scale that is not there"
        found.warning("ignore", module, text)


def _type_of(group: dict[str, Any]) -> str:
    weights, inputs = group.get("weights"), group.get("input_activations")
    if isinstance(weights, dict):
        bits, kind = weights.get("num_bits"), weights.get("type")
        is_ours = kind == "int" and weights.get("strategy") == "channel"
        if is_ours and isinstance(inputs, dict) and bits in (4, 8):
            return f"W{bits:.0f}A8_DYNAMIC"
        return f"unknown (type {kind}, {bits} bits, strategy {weights.get('strategy')})"[:100]
    return "unknown"
