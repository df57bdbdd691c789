"""A profile that an operator lacks is refused by it, never ignored: by every operator there is.

What the profiles of the operators that have some give is test_profiles.py's.
"""

from __future__ import annotations

import numpy as np
import pytest
from cases import CASES
from cases.case import Arguments, Case
from errors.common import HAVE_PROFILES

import npu_quant
from npu_quant import ParamError, ops

# The C API's profile is the environment's: tests/cpp/aclnn/test_numerics.cpp.
IN_PYTHON = [case for case in CASES if not case.in_c]
LACK_PROFILES = [case for case in IN_PYTHON if case.operator.__name__ not in HAVE_PROFILES]
PROFILE = "ascend950"
REFUSAL = rf"^[\w.]+: numerics is '{PROFILE}', available: reference\.$"
every_kind = pytest.mark.parametrize(
    ("case", "kind"),
    [
        pytest.param(c, k, id=f"{c.name}-{name}")
        for c in LACK_PROFILES
        for name, k in c.kinds.items()
    ],
)


def arguments_of(case: Case, kind: Arguments) -> Arguments:
    """Return arguments that the operator takes."""
    return case.tried(np.random.default_rng(1), case.layouts[0], **kind)[0]


def test_every_operator_is_among_them() -> None:
    assert {case.operator.__name__ for case in IN_PYTHON} >= set(ops.__all__)


@every_kind
def test_an_operator_refuses_a_profile_it_lacks(case: Case, kind: Arguments) -> None:
    name = case.operator.__name__
    given = arguments_of(case, kind)
    with npu_quant.numerics(PROFILE), pytest.raises(ParamError, match=REFUSAL):
        case.run(given)
    case.run(given)
    if name in ops.__all__:
        with pytest.raises(ParamError, match=REFUSAL):
            case.operator(**case.given(given), numerics=PROFILE)


@pytest.mark.parametrize(
    ("operator", "options"),
    [
        (npu_quant.quantize_val, {"value": 1.0, "scalar_type": "qint8"}),
        (npu_quant.dequantize_val, {"value": 1}),
        (
            npu_quant.PerTensorAffineQuantizer(0.1, 0, "qint8").quantize,
            {"x": np.ones(3, np.float32)},
        ),
    ],
)
def test_so_it_does_of_a_number(operator: object, options: Arguments) -> None:
    own = {} if "x" in options else {"scale": 0.1, "zero_point": 0}
    with pytest.raises(ParamError, match=REFUSAL):
        operator(**own, **options, numerics=PROFILE)  # type: ignore[operator]


def test_parameters_of_a_profile_are_refused_as_the_profile_is() -> None:
    with pytest.raises(ParamError, match=r"available: reference\.$"):
        npu_quant.npu_anti_quant(
            np.ones((2, 3), np.int8), np.ones(3, np.float32), numerics="ascend910b:x=1"
        )


def test_an_attribute_is_refused_after_ranks_and_before_shapes() -> None:
    x, scale = np.ones((2, 3), np.int8), np.ones(7, np.float32)
    with pytest.raises(ParamError, match="scale has 4 dimensions"):
        npu_quant.npu_anti_quant(x, scale[None, None, None], numerics=PROFILE)
    with pytest.raises(ParamError, match=REFUSAL):
        npu_quant.npu_anti_quant(x, scale, numerics=PROFILE)
