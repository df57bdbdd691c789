"""Which of a model's modules are the language model's layers, and which are a tower's.

The language model is told by the token embedding that it stands beside, not by its name::

    thinker.model.embed_tokens   [151936, ..]    the most rows: the scope is thinker.model
    thinker.model.layers.0.mlp.up_proj           the nearest layers in the scope: the language model
    thinker.visual.blocks.0.mlp.up_proj          layers elsewhere: a tower
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from . import names

_TOKENS = re.compile(
    r"(.*\.)?(embed_tokens|tok_embeddings|word_embeddings?|token_embeddings?|wte|embed_in|shared"
    r"|embed|embeddings?)"
)
"""Modules that may embed tokens."""
_EMBEDDER = re.compile(r"embed|^wte$")
_TOWER = re.compile(
    r"vis(ion|ual)|image|audio|speech|(^|_)vit($|_)|^(vpm|resampler|aligner|talker|mlp1|sam_model)$"
    r"|projector|code2wav|token2wav"
)
"""Names that towers have. They decide only where the place of the token embedding does not."""
SMALL = frozenset(("indexer", "linear_attn"))
IN_TOWER, OUTSIDE = "vision or audio tower", "outside the language model's layers"


@dataclass(frozen=True)
class Layout:
    """Where the language model's layers stand."""

    layers: tuple[str, ...]
    """What their names begin with, up to their number; () if the model has no token embedding."""
    first_draft: int | None = None
    """The number of the first draft layer, if there is one."""
    model_type: str = ""

    def reason_to_stay(self, module: str) -> str | None:
        """Say why a Linear is left FLOAT, unless it is asked for; None if it is not."""
        parts = module.split(".")
        if why := names.never(module, self.model_type):
            return f"{parts[-1]}: {why}"
        if SMALL.intersection(parts):
            return "small and sensitive"
        is_draft = any(part.startswith("mtp") for part in parts)
        if is_draft or (self.first_draft is not None and _layer_of(parts) >= self.first_draft):
            return "draft layer"
        return self._reason_of_place(module)

    def _reason_of_place(self, module: str) -> str | None:
        stack = stack_of(module)
        if stack in self.layers:
            return None
        if _is_named_tower(module) or (self.layers and stack):
            return IN_TOWER
        return OUTSIDE if self.layers else None

    def outside(self, modules: Iterable[str]) -> Counter[tuple[str, str]]:
        """Count Linears that are not the language model's: by what they are in, and the reason."""
        reasons = ((module, self.reason_to_stay(module)) for module in modules)
        return Counter(
            (stack_of(module) or module.rpartition(".")[0], reason)
            for module, reason in reasons
            if reason in (IN_TOWER, OUTSIDE)
        )


def layout_of(rows: Mapping[str, int], first_draft: int | None, model_type: str) -> Layout:
    """Find the language model's layers.

    Args:
        rows: N of every module that has a matrix.
        first_draft: the number of the first draft layer, if there is one.
        model_type: of config.json.
    """
    stacks = [s for s in dict.fromkeys(map(stack_of, rows)) if s and "mtp" not in s]
    embedding = {m: n for m, n in rows.items() if _TOKENS.fullmatch(m)}
    most = max(embedding.values(), default=0)
    scopes = dict.fromkeys(_scope_of(m, stacks) for m, n in embedding.items() if n == most)
    found = dict.fromkeys(s for scope in _likely(scopes) for s in _nearest(stacks, scope))
    return Layout(tuple(_likely(found)), first_draft, model_type)


def stack_of(module: str) -> str:
    """Return what stands before the number of a module's outermost layer; "" if it is in none."""
    parts = module.split(".")
    for i, part in enumerate(parts[1:-1], 1):
        if part.isdecimal():
            return ".".join(parts[:i])
    return ""


def _scope_of(embedding: str, stacks: Iterable[str]) -> str:
    """Return the innermost module that holds an embedding and layers."""
    parts = embedding.split(".")[:-1]
    while parts and (_EMBEDDER.search(parts[-1]) or not _within(stacks, ".".join(parts))):
        parts.pop()
    return ".".join(parts)


def _within(stacks: Iterable[str], scope: str) -> list[str]:
    return [s for s in stacks if not scope or s.startswith(f"{scope}.")]


def _nearest(stacks: Iterable[str], scope: str) -> list[str]:
    inside = _within(stacks, scope)
    depth = min((s.count(".") for s in inside), default=0)
    return [s for s in inside if s.count(".") == depth]


def _likely(found: Iterable[str]) -> list[str]:
    """Of places that are equally near, those that are not named as towers are."""
    some = [*found]
    return [name for name in some if not _is_named_tower(name)] or some


def _is_named_tower(module: str) -> bool:
    """Say whether a name is a tower's, in the parts before the number of a layer."""
    return any(map(_TOWER.search, (stack_of(module) or module).split(".")))


def _layer_of(parts: list[str]) -> float:
    """The number after ``layers``, -1 where there is none."""
    for word, number in pairwise(parts):
        if word == "layers" and number.isdecimal():
            return float(number)  # which may have more digits than int takes
    return -1
