"""Every message the package can give, who raises it, and that nothing is written when it does.

The operators' messages are tables, a module per family in errors/; this file goes through all.
"""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from itertools import combinations_with_replacement
from types import ModuleType
from typing import Any

import errors
import numpy as np
import pytest
from cases.case import Arguments, as_tuple
from errors.common import faults_of
from witnesses import assert_same_bits

import npu_quant
from npu_quant import DTypeError, ParamError, npu_dynamic_block_quant, npu_dynamic_quant

X = np.ones((2, 4), np.float16)


MODULES = [f"errors.{m.name}" for m in pkgutil.iter_modules(errors.__path__)]
TABLES = {
    name.partition(".")[2]: importlib.import_module(name)
    for name in MODULES
    if not name.endswith((".arrays", ".common"))
}
OF_ONE = {stem: module for stem, module in TABLES.items() if hasattr(module, "OP")}


ANY_CODE = -1


def said_instead(
    call: Callable[[], Any], error: type, text: str, code: int | None = ANY_CODE
) -> str:
    """Return what a call says that is not as a row has it; nothing, where all is."""
    try:
        call()
    except error as caught:
        said, found = str(caught), getattr(caught, "code", None)
        if not said.startswith(text) or len(said) >= 400:
            return said
        is_as_coded = isinstance(caught, RuntimeError) == (code is not None) and found == code
        return "" if code == ANY_CODE or is_as_coded else f"{type(caught).__name__}, {found}"
    except Exception as other:
        return repr(other)
    return "no error"


@pytest.mark.parametrize("stem", TABLES)
def test_messages(stem: str) -> None:
    """Each row's; and no output is written."""
    module, wrong = TABLES[stem], []
    prefix = f"{module.OP}: " if stem in OF_ONE else ""
    for name, call, error, code, text in module.ERRORS:
        found = said_instead(call, error, prefix + text, code)
        written = [i for i, output in enumerate(module.UNWRITTEN) if output.any()]
        if found or written:
            wrong.append((name, text, found, written))
    assert wrong == []


def fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda: None, "no error"),
        (lambda: fail(ParamError("op: y", 161002)), "op: y"),
        (lambda: fail(ParamError("op: x" + 400 * "x", 161002)), "op: xxxxxx"),
        (lambda: fail(ParamError("op: x is", 561002)), "ParamError, 561002"),
        (lambda: fail(ValueError("op: x is")), "ValueError('op: x is')"),
        (lambda: fail(ParamError("op: x is", 161002)), ""),
    ],
)
def test_a_row_that_is_wrong_is_found(call: Callable[[], Any], found: str) -> None:
    said = said_instead(call, ParamError, "op: x", 161002)
    assert said.startswith(found)
    assert bool(said) == bool(found)


def test_torch_is_asked_for_by_nobody() -> None:
    """What is no array is no reason to import it; nor is what others call torch one to trust it."""
    program = """if True:
        import sys, types
        import npu_quant

        def refuse():
            try:
                npu_quant.npu_dynamic_quant([1])
            except npu_quant.DTypeError as error:
                assert "input is a list, expected a numpy.ndarray" in str(error)

        refuse()
        assert "torch" not in sys.modules
        for module in (None, types.SimpleNamespace(Tensor=1), types.SimpleNamespace(Tensor=list)):
            sys.modules["torch"] = module
            refuse()
        """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_subclasses_count_as_arrays() -> None:
    assert npu_dynamic_quant(X.view(np.recarray)).y.tolist() == npu_dynamic_quant(X).y.tolist()


def functions(module: ModuleType) -> dict[str, Any]:
    """Return the call and the faults of each function of a family; of one, those of arrays come first."""
    if not isinstance(module.FAULTS, list):
        return dict(module.FAULTS)
    faults = [*faults_of(module.call, module.TAKES), *module.FAULTS]
    return {module.OP: (module.call, faults)}


@pytest.mark.parametrize("stem", TABLES)
def test_the_first_fault_is_reported(stem: str) -> None:
    """Missing, arrays, dtypes, ranks, attributes, shapes, out: of two faults the earlier."""
    wrong = []
    for name, (call, faults) in functions(TABLES[stem]).items():
        for (fault, error, text), (later, _, _) in combinations_with_replacement(faults, 2):
            both = partial(call, **later | fault)
            if found := said_instead(both, error, f"{name}: {text}"):
                wrong.append((text, later, found))
    assert wrong == []


@pytest.mark.parametrize(
    ("module", "others"),
    [
        pytest.param(module, others, id=f"{stem}-{', '.join(others)}")
        for stem, module in OF_ONE.items()
        for others in [{}, *module.ACCEPTED]
    ],
)
def test_accepted_kinds(module: ModuleType, others: Arguments) -> None:
    """Also under a profile that is in force."""
    given = getattr(module, "as_given", dict)(module.GIVEN | others)
    operator = getattr(npu_quant, module.OP)
    reference = sys.modules[operator.__module__].reference
    formula = inspect.signature(reference).parameters
    expected = reference(**{name: given[name] for name in given if name in formula})
    with npu_quant.numerics("reference"):
        results = [operator(**given)]
    results.append(operator(**given))
    for result in results:
        pairs = zip(as_tuple(result), as_tuple(expected), strict=True)
        wanted = [(r, e) for r, e in pairs if r is not None]
        assert_same_bits(tuple(r for r, _ in wanted), tuple(e for _, e in wanted))


class Hostile:
    """An object whose conversions do what they like."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def __float__(self) -> float:
        return float(self.act())

    __index__ = __float__  # type: ignore[assignment]


def test_an_array_may_change_while_arguments_are_converted() -> None:
    """The memory is looked up after the last line of Python has run."""
    x = np.ones((1 << 12, 1 << 12), np.float16)
    out = np.empty((1, 2), np.int8), np.empty((1, 1), np.float32)

    def shrink() -> float:
        x.resize((1, 2), refcheck=False)
        return 0.0

    npu_dynamic_block_quant(x, min_scale=Hostile(shrink), out=out)
    assert out[0].tolist() == [[127, 127]]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ZeroDivisionError])
def test_errors_of_other_code_pass_through(error: type) -> None:
    def fail() -> float:
        raise error

    with pytest.raises(error):
        npu_dynamic_block_quant(X, min_scale=Hostile(fail))


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"numerics": "\ud800"}, ParamError, "numerics is '"),
        ({"numerics": "reference\0"}, ParamError, "numerics is '"),
        ({"round_mode": "a" + "é" * 99}, ParamError, "round_mode is 'aé"),
        ({"round_mode": "\ud800"}, ParamError, "round_mode is '"),
        ({"dst_type": 10**30}, ParamError, "dst_type is 1000"),
        ({"dst_type": 10**5000}, ParamError, "dst_type is an int"),
        ({"min_scale": 10**400}, ParamError, "min_scale is too large"),
        ({"min_scale": 1j}, TypeError, "min_scale is a complex"),
        ({"min_scale": np.complex64(1)}, TypeError, "min_scale is a numpy.complex64"),
        ({"min_scale": np.array(1.0)}, TypeError, "min_scale is a numpy.ndarray"),
        ({"row_block_size": np.array([1])}, TypeError, "row_block_size is a numpy.ndarray"),
        ({"x": type("M", (), {"__module__": None})()}, DTypeError, "x is a"),
        (
            {"out": (np.zeros((2, 4), [(f"f{i}", "i4") for i in range(200)]), None)},
            DTypeError,
            "out",
        ),
        ({"out": (None,)}, ParamError, "out has 1 entry"),
    ],
)
def test_odd_values_get_plain_messages(arguments: dict[str, Any], error: type, text: str) -> None:
    x = arguments.pop("x", X)
    with pytest.raises(error) as caught:
        npu_dynamic_block_quant(x, **arguments)
    assert str(caught.value).startswith(f"npu_dynamic_block_quant: {text}")
    assert len(str(caught.value)) < 400


def test_an_out_array_of_a_hostile_class() -> None:
    """No code of a class runs while arrays are read: isinstance() would ask its __class__."""
    x = np.ones(400_000, np.float32)

    class Shrinking(np.ndarray):
        @property
        def __class__(self) -> type:
            x.resize(0, refcheck=False)
            return np.ndarray

    out = np.zeros(x.size, np.int8).view(Shrinking)
    npu_quant.npu_quantize(x, np.ones(1, np.float32), None, "int8", out=out)
    assert x.size == 400_000
    assert np.asarray(out).all()


@pytest.mark.parametrize(
    ("argument", "dtype"), [("scale", "np.float32"), ("zero_point", "np.int32")]
)
def test_remedies_keep_the_arithmetic(argument: str, dtype: str) -> None:
    arrays = {"scale": np.ones(2, np.float32), "zero_point": np.zeros(2, np.int32)}
    arrays[argument] = [1, 2]  # type: ignore[assignment]
    with pytest.raises(DTypeError, match=rf"np\.asarray\({argument}, dtype={dtype}\)"):
        npu_quant.fake_quantize_per_channel_affine(
            np.ones((2, 2), np.float32), arrays["scale"], arrays["zero_point"], 0, 0, 9
        )


def test_shapes_beyond_the_rank_are_not_shown() -> None:
    x = np.ones((1,) * 8, np.float32)
    with pytest.raises(ParamError, match="beta has 9 dimensions, expected the shape of gamma"):
        npu_quant.npu_add_rms_norm_quant(x, x, x, x, None, x[None])


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(ParamError("text", 561002)))
    assert (str(error), error.code, type(error)) == ("text", 561002, ParamError)


def test_classes() -> None:
    assert issubclass(DTypeError, TypeError)
    assert issubclass(DTypeError, RuntimeError)
    assert issubclass(ParamError, ValueError)
    assert issubclass(ParamError, RuntimeError)


@pytest.mark.parametrize("n", [0, -1, 5000, 10**20])
def test_set_num_threads_range(n: int) -> None:
    with pytest.raises(ParamError, match="expected a whole number from 1 to 4096"):
        npu_quant.set_num_threads(n)


@pytest.mark.parametrize("n", ["2", 2.0, None])
def test_set_num_threads_kind(n: Any) -> None:
    with pytest.raises(TypeError, match="expected an int"):
        npu_quant.set_num_threads(n)


def test_unknown_numerics_in_with() -> None:
    with pytest.raises(ParamError, match=r"numerics: numerics is 'x', available: reference"):  # noqa: SIM117
        with npu_quant.numerics("x"):
            pass


def test_out_of_memory_is_memory_error_and_writes_nothing() -> None:
    """Under a limit of address space, in a process of its own."""
    program = textwrap.dedent("""
        import resource
        import numpy as np
        import npu_quant
        x = np.zeros((1 << 14, 1 << 14), np.float16)
        scale = np.full(1 << 14, 5, np.float32)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
        for op in (npu_quant.npu_dynamic_quant, npu_quant.npu_dynamic_block_quant):
            try:
                op(x)
            except MemoryError as error:
                print(error)
        npu_quant.npu_dynamic_quant(x, out=(None, scale))
        print(scale.any())
    """)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    operators = ["npu_dynamic_quant", "npu_dynamic_block_quant"]
    assert done.stdout.splitlines() == [*[f"{op}: out of memory." for op in operators], "False"]
