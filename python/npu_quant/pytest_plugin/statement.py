"""The assertion that failed, as its source has it: which names it compares, and what they hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

# Functions of NumPy and torch that compare their first two arguments, by their last name.
_FUNCTIONS = {"array_equal", "array_equiv", "allclose", "equal"}
_ASSERTIONS = {
    "assert_allclose",
    "assert_almost_equal",
    "assert_array_almost_equal",
    "assert_array_almost_equal_nulp",
    "assert_array_equal",
    "assert_array_max_ulp",
    "assert_close",
    "assert_equal",
}
_KEYWORDS = (("actual", "x", "input", "a1", "a"), ("desired", "y", "expected", "other", "a2", "b"))
# A name in one of these is not the frame's.
_SCOPES = (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)


class Pair(NamedTuple):
    """Two expressions that an assertion compares."""

    actual: ast.expr
    golden: ast.expr
    elementwise: bool
    """Whether shapes are made alike first, as ``==`` does."""


def statement_at(tree: ast.Module, line: int) -> ast.stmt | None:
    """Return the assertion, or the call that stands alone, at a line; the innermost one."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assert, ast.Expr))
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(found, key=lambda node: node.lineno, default=None)


def pairs_of(statement: ast.stmt, *, bare: bool) -> Iterator[Pair]:
    """Return what a statement compares, in its order.

    Args:
        statement: an assertion, or a call that stands alone.
        bare: look for ``assert x == y`` only; else for all but that, which pytest explains.
    """
    if isinstance(statement, ast.Assert):
        yield from _comparison(statement.test, ast.Eq) if bare else _within(statement.test)
    elif isinstance(statement, ast.Expr) and not bare:
        call = statement.value
        if isinstance(call, ast.Call) and _name_of(call) in _ASSERTIONS:
            yield from _arguments(call)


def _within(node: ast.AST) -> Iterator[Pair]:
    """Return the comparisons in an expression whose outcome is one truth value."""
    if isinstance(node, _SCOPES):
        return
    if isinstance(node, ast.Call):
        name = _name_of(node)
        if name in _FUNCTIONS:
            yield from _arguments(node)
        elif name in ("all", "any"):
            # np.all(x == y), and (x == y).all()
            over = [*node.args[:1], getattr(node.func, "value", node)]
            for expression in over:
                yield from _comparison(expression, ast.Eq if name == "all" else ast.NotEq)
    for child in ast.iter_child_nodes(node):
        yield from _within(child)


def _comparison(node: ast.expr, operator: type[ast.cmpop]) -> Iterator[Pair]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], operator):
        yield Pair(node.left, node.comparators[0], True)


def _arguments(call: ast.Call) -> Iterator[Pair]:
    """Return the two arguments that a call compares."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    chosen: list[ast.expr] = []
    for position, names in enumerate(_KEYWORDS):
        if position < len(call.args):
            chosen.append(call.args[position])
        else:
            chosen += [named[name] for name in names if name in named][:1]
    if len(chosen) == 2:
        yield Pair(chosen[0], chosen[1], False)


def _name_of(call: ast.Call) -> str:
    """Return the last name of what is called."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def lookup(node: ast.expr, frame: FrameType) -> Any:
    """Return what an expression holds in a frame, without running any code of the test's.

    Names, attributes that an instance or a module simply has, fields of named tuples, elements of
    tuples, lists, dicts and arrays at written places, tuples of these, and literals.

    Raises:
        LookupError: it is none of these, or not there.
        ValueError: it is none of these.
    """
    if isinstance(node, ast.Name):
        scope = frame.f_locals if node.id in frame.f_locals else frame.f_globals
        return scope[node.id]
    if isinstance(node, ast.Attribute):
        return _attribute(lookup(node.value, frame), node.attr)
    if isinstance(node, ast.Subscript):
        owner = lookup(node.value, frame)
        if type(owner) not in (tuple, list, dict, np.ndarray):
            raise LookupError(ast.unparse(node))
        return owner[ast.literal_eval(node.slice)]
    if isinstance(node, ast.Tuple):
        return tuple(lookup(element, frame) for element in node.elts)
    return ast.literal_eval(node)


def _attribute(owner: Any, name: str) -> Any:
    fields = getattr(type(owner), "_fields", ())
    if isinstance(owner, tuple) and name in fields:
        return tuple.__getitem__(owner, fields.index(name))
    return object.__getattribute__(owner, "__dict__")[name]
