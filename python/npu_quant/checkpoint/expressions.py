"""The regular expressions that checkpoints name modules by: text becomes a tree of parts.

The language is that of tools that write checkpoints: letters, ``.``, escapes, classes, groups,
alternatives, ``^``, ``$``, and repeats of what has no endless repeat in it. Python's `re`, which
consumers have, takes more, and exponential time for some of it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST = 500
"""Letters of an expression."""
DEEPEST = 20
"""Groups in groups."""
MOST_LETTERS = 2_000
"""Of what an expression repeats by a number, written out."""

_TOKEN = re.compile(
    r"""(?P<open>\((?:\?:|\?P<[A-Za-z_]\w*>|(?!\?)))
    | (?P<close>\))
    | (?P<bar>\|)
    | (?P<repeat>(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\}|\{,\d{1,3}\})\??)
    | (?P<anchor>[$^])
    | (?P<letter>\\[dDsSwW] | \\[^A-Za-z0-9] | [^][\\(){}|*+?^$]
        | \[\^?(?:\\[dDsSwW]|\\[^A-Za-z0-9]|(?!--)[^][\\^&~|])+\])""",
    re.VERBOSE | re.DOTALL,
)


class ExpressionError(Exception):
    """An expression is not of the language.

    Attributes:
        severity: error where consumers stop or hang at it, warning where they may well take it.
    """

    def __init__(self, severity: str, text: str) -> None:
        super().__init__(severity, text)
        self.severity, self.text = severity, text


class Letter(NamedTuple):
    """One letter that fits an expression of one."""

    fits: re.Pattern[str]


class Anchor(NamedTuple):
    """The beginning of a name, or its end."""

    is_end: bool


class Sequence(NamedTuple):
    """Parts, one after the other."""

    parts: tuple[Part, ...]


class Choice(NamedTuple):
    """One of some parts."""

    parts: tuple[Part, ...]


class Repeat(NamedTuple):
    """A part, so many times."""

    part: Part
    least: int
    most: int | None


Part = Letter | Anchor | Sequence | Choice | Repeat


def parsed(text: str) -> Part:
    """Return an expression's parts.

    Raises:
        ExpressionError: it is not of the language.
    """
    if len(text) > LONGEST:
        raise ExpressionError("warning", f"has more than {LONGEST} letters")
    tokens = _Tokens(text)
    part = _choice(tokens, 0)
    if tokens.kind != "end":
        raise ExpressionError("error", "has a ) without a (")
    return part


class _Tokens:
    """The tokens of an expression, one at a time."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self.kind = self.word = ""
        self.next()

    def next(self) -> None:
        """Go on to the next token."""
        self._at += len(self.word)
        rest = self._text[self._at :]
        found = _TOKEN.match(rest)
        if found is not None:
            self.kind, self.word = found.lastgroup or "", found[0]
        elif not rest:
            self.kind, self.word = "end", ""
        elif rest == "\\" or (rest[0] == "[" and "]" not in rest):
            raise ExpressionError("error", f"does not end after {rest[:1]}")
        else:
            raise ExpressionError("warning", f"has {rest[:3]}")


def _choice(tokens: _Tokens, depth: int) -> Part:
    if depth > DEEPEST:
        raise ExpressionError("error", f"nests deeper than {DEEPEST} groups")
    parts = [_sequence(tokens, depth)]
    while tokens.kind == "bar":
        tokens.next()
        parts.append(_sequence(tokens, depth))
    return Choice(tuple(parts))


def _sequence(tokens: _Tokens, depth: int) -> Part:
    parts: list[Part] = []
    while tokens.kind not in ("end", "close", "bar"):
        kind, word = tokens.kind, tokens.word
        tokens.next()
        if kind == "open":
            parts.append(_choice(tokens, depth + 1))
            if tokens.kind != "close":
                raise ExpressionError("error", "has a ( without a )")
            tokens.next()
        elif kind == "repeat":
            last = parts.pop() if parts else None
            parts.append(_repeated(last, word))
        else:
            parts.append(Anchor(word == "$") if kind == "anchor" else _letter(word))
    return Sequence(tuple(parts))


def _letter(word: str) -> Letter:
    try:
        return Letter(re.compile(word))
    except re.error as error:
        raise ExpressionError("error", f"has {word[:20]}: {error.msg}") from error


def _repeated(part: Part | None, word: str) -> Repeat:
    if part is None or isinstance(part, (Repeat, Anchor)):
        raise ExpressionError("error", f"has {word} after nothing that can be repeated")
    least, comma, most = word.rstrip("?").strip("{}").partition(",")
    if word[0] != "{":
        times = {"*": (0, None), "+": (1, None), "?": (0, 1)}[word[0]]
    else:
        times = int(least or 0), (int(most) if most else None) if comma else int(least)
    return _checked(Repeat(part, *times), word)


def _checked(repeat: Repeat, word: str) -> Repeat:
    least, most = repeat.least, repeat.most
    if most is not None and most < least:
        raise ExpressionError("error", f"has {word}: at least {least}, but at most {most}")
    if _size(repeat) > MOST_LETTERS:
        raise ExpressionError("warning", f"has {word}: more than {MOST_LETTERS:,} letters in all")
    if most != 1 and _is_endless(repeat.part):
        raise ExpressionError("error", "repeats what is repeated without end")
    return repeat


def _is_endless(part: Part) -> bool:
    """Say whether a part has a repeat without end."""
    if isinstance(part, Repeat):
        return part.most is None or _is_endless(part.part)
    return isinstance(part, (Sequence, Choice)) and any(map(_is_endless, part.parts))


def _size(part: Part) -> int:
    """Return how many letters a part has where all repeats are written out."""
    if isinstance(part, (Sequence, Choice)):
        return sum(map(_size, part.parts)) + 1
    if isinstance(part, Repeat):
        return max(part.least, part.most or 1) * _size(part.part)
    return 1
