"""The C functions that take lists of tensors give the bytes of the Python operators."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from aclnn_calls import call, recent_message, status_of
from cases import grouped_matmul as grouped
from cases import grouped_matmul_swiglu_quant as gated
from cases.case import Arguments
from witnesses import Array, assert_same_but_nan

from npu_quant import npu_grouped_matmul, npu_grouped_matmul_swiglu_quant_v2

LISTS = ("x", "weight", "bias", "scale", "", "antiquant_scale", "antiquant_offset")
LISTS += ("per_token_scale",)
FORMS = list(grouped.FORMS)
VERSIONS = ["V4", "V5"]


def arguments(rng: np.random.Generator, form: str, **options: Any) -> Arguments:
    """Return those of Python, with lists of one array each."""
    a = grouped.arguments(rng, (19, 72), **grouped.FORMS[form], **options)
    a = grouped.sprinkled(rng, a)
    return {n: [v] if n in LISTS else v for n, v in a.items()}


def same_in_c(version: str, a: Arguments) -> None:
    """Fail unless the function gives what the operator gives."""
    expected = npu_grouped_matmul(**a)
    out = [np.full_like(y, 85) for y in expected]
    call(
        f"aclnnGroupedMatmul{version}",
        *(a.get(name) for name in LISTS),
        *(a.get("group_list"), None, None, None),
        *(a["split_item"], -1 if a.get("group_type") is None else a["group_type"]),
        *(a.get("group_list_type", 0), a["act_type"]),
        *([None] if version == "V5" else []),
        *(out, None, None),
    )
    assert_same_but_nan(tuple(out), tuple(expected))


@pytest.mark.parametrize("list_type", [None, 0, 1, 2])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("version", VERSIONS)
def test_one_of_each(rng: np.random.Generator, version: str, form: str, list_type: Any) -> None:
    same_in_c(version, arguments(rng, form, list_type=list_type))


@pytest.mark.parametrize("act", [1, 5])
def test_activations(rng: np.random.Generator, act: int) -> None:
    same_in_c("V4", arguments(rng, "a8w8", list_type=1, act=act))


def unstacked(a: Arguments) -> Arguments:
    """Return arguments with a list of weights, and of what goes with them, for a stack."""
    of_weight = [n for n in LISTS[1:-1] if a.get(n)]
    return a | {n: [*a[n][0]] for n in of_weight}


@pytest.mark.parametrize("split_item", [0, 3])
@pytest.mark.parametrize("form", FORMS)
def test_several_weights(rng: np.random.Generator, form: str, split_item: int) -> None:
    same_in_c("V5", unstacked(arguments(rng, form, list_type=0)) | {"split_item": split_item})


@pytest.mark.parametrize(("split_item", "keeps"), [(0, False), (2, False), (2, True)])
@pytest.mark.parametrize("form", FORMS)
def test_several_of_all(rng: np.random.Generator, form: str, split_item: int, keeps: bool) -> None:
    a = unstacked(arguments(rng, form, list_type=1)) | {"split_item": split_item}
    ends = np.cumsum(a["group_list"])
    for name in ("x", "per_token_scale"):
        if name in a:
            a[name] = np.split(a[name][0][: ends[-1]], ends[:-1])
    if not keeps:
        a |= {"group_list": None, "group_type": -1 if split_item == 0 else 0}
    same_in_c("V5", a)


def test_views(rng: np.random.Generator) -> None:
    """Of transposed weights, and rows apart."""
    a = arguments(rng, "a8w8", list_type=0)
    a["weight"] = [w.swapaxes(1, 2).copy().swapaxes(1, 2) for w in a["weight"]]
    a["x"] = [np.repeat(x, 2, axis=0)[::2] for x in a["x"]]
    same_in_c("V4", a)


@pytest.mark.parametrize("group_list", [[9, 4, 19], [3, 9, 20], [-1, 3, 4]])
def test_groups_that_do_not_fit(rng: np.random.Generator, group_list: list[int]) -> None:
    a = arguments(rng, "float16", list_type=0)
    out = np.full((19, 24), 85, np.float16)
    status = status_of(
        "aclnnGroupedMatmulV4",
        *(a.get(name) for name in LISTS),
        *(np.array(group_list), None, None, None, 3, 0, 0, 0, [out], None, None),
    )
    assert status == 161002
    assert (out == 85).all()


@pytest.mark.parametrize("split_item", [0, 1])
def test_a_stack_of_weights_has_one_result(rng: np.random.Generator, split_item: int) -> None:
    """There are as many as weight has tensors, where Python has one for each of the stack."""
    a = arguments(rng, "float16", list_type=0)
    (expected,) = npu_grouped_matmul(**a)
    ends = [0, *a["group_list"].tolist()]
    parts = [np.zeros((n, 24), np.float16) for n in np.diff(ends)]
    whole = np.zeros_like(expected)
    given = [a.get(name) for name in LISTS] + [a["group_list"], None, None, None, split_item, 0]
    status = status_of("aclnnGroupedMatmulV4", *given, 0, 0, parts, None, None)
    assert status == 161002
    assert "out has 3 arrays, expected 1, as many as weight has." in recent_message()
    call("aclnnGroupedMatmulV4", *given, 0, 0, [whole], None, None)
    assert_same_but_nan((whole,), (expected,))


def listed(value: Array | None) -> list[Array] | None:
    return None if value is None else [value]


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("codes", gated.SECOND)
def test_gated(rng: np.random.Generator, codes: str, counts: bool) -> None:
    a = gated.of_second(rng, (19, 72), codes, experts=3, behind=True, counts=counts)
    a = gated.sprinkled_second(rng, a)
    lists = ("weight", "weight_scale", "weight_assist_matrix")
    a |= {name: listed(a.get(name)) for name in lists}
    expected = npu_grouped_matmul_swiglu_quant_v2(**a)
    y, scale = (np.full_like(result, 85) for result in expected)
    if codes == "mx":
        scale = scale.view(ml_dtypes.float8_e8m0fnu)
    modes = [a.get(name, 0) for name in ("dequant_mode", "", "quant_mode", "group_list_type")]
    given = [a["x"], *(a[name] for name in lists), None, a["x_scale"], a.get("smooth_scale")]
    call("aclnnGroupedMatmulSwigluQuantV2", *given, a["group_list"], *modes, None, y, scale)
    assert_same_but_nan((y, scale.view(expected[1].dtype)), tuple(expected))
