"""The layers that consumers make of a model's modules, and the targets that they are taken for.

vllm-ascend asks for layers as it builds them, fused and with all experts of a layer in one, by
vLLM's should_ignore_layer and find_matched_target (0.27.1): a name, else all parts of a fused
layer, else the name of its class. A pattern is ``re:`` and a regular expression, which consumers
give to `re.match` of Python. With some it takes for ever, so a process of its own tries them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from . import names

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


class Layer(NamedTuple):
    """What vllm-ascend builds of some modules, and asks for a type of."""

    name: str
    parts: tuple[str, ...]
    """Their names, if it is fused."""
    built_as: str
    """The name of its class."""
    modules: tuple[str, ...]
    """Those that are there."""

    @property
    def has_experts(self) -> bool:
        """Whether it is all routed experts of a layer."""
        return self.built_as == _EXPERTS


_EXPERTS = "AscendRoutedExperts"
_MERGED = "AscendMergedColumnParallelLinear"
_FUSED = (
    ("qkv_proj", "AscendQKVParallelLinear", names.words("q_proj k_proj v_proj")),
    ("gate_up_proj", _MERGED, names.words("gate_proj up_proj")),
    ("gate_up_proj", _MERGED, names.words("w1 w3")),
    ("fused_qkv_a_proj", _MERGED, names.words("q_a_proj kv_a_proj_with_mqa")),
    ("in_proj_qkvz", _MERGED, names.words("in_proj_qkv in_proj_z")),
    ("in_proj_ba", _MERGED, names.words("in_proj_b in_proj_a")),
)
"""packed_modules_mapping of vLLM's models."""
_ROWS = names.words("o_proj down_proj w2 wo out_proj dense dense_4h_to_h fc2")


def layers_of(modules: Iterable[str]) -> list[Layer]:
    """Return the layers that consumers make of modules, in the order of their first ones."""
    known, result = dict.fromkeys(modules), list[Layer]()
    experts: dict[str, list[str]] = {}
    for module in known:
        if (at := names.experts_of(module)) is not None:
            experts.setdefault(at, []).append(module)
    done: set[str] = set()
    for module in known:
        if module not in done:
            result.append(_layer_of(module, known, experts))
            done.update(result[-1].modules)
    return result


def _layer_of(module: str, known: Collection[str], experts: dict[str, list[str]]) -> Layer:
    if (at := names.experts_of(module)) is not None:  # by one name, whatever theirs are
        return Layer(f"{at}.0.gate_proj", (), _EXPERTS, tuple(experts[at]))
    parent, dot, last = module.rpartition(".")
    for name, built_as, lasts in _FUSED:
        parts = tuple(parent + dot + part for part in lasts)
        there = tuple(part for part in parts if part in known)
        if last in lasts and len(there) > 1:
            return Layer(parent + dot + name, parts, built_as, there)
    side = "Row" if last in _ROWS else "Column"
    return Layer(module, (), f"Ascend{side}ParallelLinear", (module,))


class Rules:
    """Who is ignored, and which target the others are taken for."""

    def __init__(self, ignore: Sequence[str], targets: Sequence[str], layers: list[Layer]) -> None:
        tried = {name for x in layers for name in (x.name, *x.parts, x.built_as)}
        self._fits, self.faults = fitting([*ignore, *targets], sorted(tried))
        """Of patterns that cannot be tried what is wrong with them."""
        self._targets, self._ignore = targets, {*ignore}
        self._ignored = {name for i in ignore for name in self._fits.get(i, ())}
        self._target: dict[str, str] = {}
        for target in targets:
            for name in self._fits.get(target, ()):
                self._target.setdefault(name, target)

    def is_ignored(self, layer: Layer) -> bool | None:
        """Say whether a layer is ignored; None where only some of its parts are."""
        if not layer.parts or layer.name in self._ignore:
            return layer.name in self._ignored
        said = {part in self._ignored for part in layer.parts}
        return said.pop() if len(said) == 1 else None

    def target_of(self, layer: Layer) -> str | None:
        """Return the target that a layer is taken for."""
        parts = [self._target.get(part) for part in layer.parts]
        by_parts = parts[0] if None not in parts and parts else None
        return self._target.get(layer.name) or by_parts or self._of_class(layer.built_as)

    def _of_class(self, name: str) -> str | None:
        """Return the first target that a class's name holds; experts are of "Linear", too."""
        target = next((t for t in self._targets if self._is_held(t, name)), None)
        is_alias = name == _EXPERTS and "RoutedExperts" not in self._targets
        return "Linear" if target is None and is_alias and "Linear" in self._targets else target

    def _is_held(self, target: str, name: str) -> bool:
        if target.startswith("re:"):
            return name in self._fits.get(target, ())
        return target.lower() in name.lower()
