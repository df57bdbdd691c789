"""The house rules, checked: rooms, stems, sizes."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from cases import CASES
from test_pages import page_of

import npu_quant
from npu_quant import _core, ops

ROOT = Path(__file__).resolve().parent.parent
CSRC = ROOT / "csrc"
BINDINGS = ("bind_ops", "bind_grouped_matmul", "bind_quantize_val")
# What is bound. Kernels are not counted: several families share one, or have none of their own.
FAMILIES = sorted(
    {
        stem
        for name in BINDINGS
        for stem in re.findall(r'#include "ops/(\w+).h"', (CSRC / f"python/{name}.cpp").read_text())
    }
)
# Families that are no operators, and the page they are written on.
NOT_OPERATORS = {"compare": "golden/measure/metrics.py", "checkpoint": "checkpoint/weights.py"}
# Families without a function in the C API, and what the room holds beside the others.
NOT_IN_ACLNN = {"quantize_val", "dtype_cast", "dynamic_block_mx_quant", *NOT_OPERATORS}
NOT_IN_ACLNN |= {
    "grouped_dynamic_mx_quant",
    "grouped_dynamic_block_quant",
    "rms_norm",
    "add_rms_norm_dynamic_quant",
    "dual_level_quant_matmul",
}
# Families whose functions lie in another's file of the C API.
IN_ACLNN_WITH = {"swiglu_quant": "swiglu", "dequant_swiglu_quant": "swiglu"}
IN_ACLNN_WITH |= dict.fromkeys(
    ["moe_init_routing_v2", "moe_token", "moe_finalize_routing"], "moe_routing"
)
IN_ACLNN_WITH |= {"swiglu_group_quant": "swiglu"}
IN_ACLNN_WITH |= {"dynamic_dual_level_mx_quant": "dynamic_mx_quant"}
SHARED_ACLNN = {"arrays", "data_type", "executor", "faults", "float16", "memory"}
SHARED_ACLNN |= {"executor_lists", "mutex", "report", "runtime", "tensor"}
CPP = sorted(p for p in CSRC.rglob("*") if p.suffix in (".cpp", ".h"))
PYTHON = [
    p for d in ("python", "tests", "bench", "examples", "tools") for p in (ROOT / d).rglob("*.py")
]
CPP_TESTS = [
    p
    for pattern in (
        "tests/cpp/**/*.cpp",
        "tests/cpp/**/*.h",
        "bench/*.cpp",
        "examples/aclnn/*.[ch]*",
    )
    for p in sorted(ROOT.glob(pattern))
]


@cache
def text(path: Path) -> str:
    """Return what a file holds."""
    return path.read_text()


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax of a Python file."""
    return ast.parse(text(path))


@cache
def code(path: Path) -> str:
    """Return a C++ file without its comments and strings."""
    plain = re.sub(r"//.*", "", text(path))
    return re.sub(r'"(\\.|[^"\\])*"', '""', plain)


def found_in(paths: list[Path], *patterns: str) -> list[tuple[str, str]]:
    """Return where these are in the code of C++ files, and what is there."""
    return [
        (str(path.relative_to(ROOT)), found.group())
        for path in paths
        for pattern in patterns
        for found in re.finditer(pattern, code(path))
    ]


def room_of(path: Path) -> str:
    """Return the folder of csrc/ that a file is in."""
    return path.relative_to(CSRC).parts[0]


def family_of(stem: str) -> str:
    """Return the family that a file is of: the longest name that its own begins with."""
    return max((f for f in FAMILIES if stem.startswith(f)), key=len, default="")


def rooms_of(family: str) -> list[str]:
    """Return the files that a family has, by its stem."""
    is_operator = family not in NOT_OPERATORS
    return [
        f"csrc/ops/{family}.h",
        f"csrc/ops/{family}.cpp",
        f"python/npu_quant/{NOT_OPERATORS.get(family, f'ops/{family}*.py')}",
        f"tests/test_{family}*.py",
        *([f"tests/{room}/{family}*.py" for room in ("cases", "errors") if is_operator]),
        *([f"tests/cpp/test_{family}.cpp"] if family in NOT_IN_ACLNN else []),
        f"bench/bench_{family}.py",
    ]


def test_a_family_is_found_in_every_room_by_its_stem() -> None:
    rooms = [room for family in FAMILIES for room in rooms_of(family)]
    assert [room for room in rooms if not list(ROOT.glob(room))] == []


def test_no_room_has_a_family_that_the_others_lack() -> None:
    operators = set(FAMILIES) - set(NOT_OPERATORS)
    assert {family_of(Path(page_of(name).__file__ or "").stem) for name in ops.__all__} == operators
    shared = {"__init__", "runtime", "quantizer", "case", "arrays", "common", "aclnn"}
    for pattern, prefix in [
        ("python/npu_quant/ops/*.py", ""),
        ("bench/bench_*.py", "bench_"),
        ("tests/cases/*.py", ""),
        ("tests/errors/*.py", ""),
    ]:
        stems = {p.stem.removeprefix(prefix) for p in ROOT.glob(pattern)} - shared
        expected = set(FAMILIES) if "bench_" in pattern else operators
        assert {family_of(stem) for stem in stems} == expected, pattern


def test_every_operator_is_tried() -> None:
    assert {case.operator.__name__ for case in CASES} >= set(ops.__all__)


STRUCT = re.compile(r"^struct (\w+) (?:final )?: (\w+) \{", re.MULTILINE)


def test_one_test_spoils_the_arguments_of_every_operator() -> None:
    tried = set(re.findall(r"\bop<(\w+)>", text(ROOT / "tests/cpp/test_operators.cpp")))
    structs = [found for p in CPP if room_of(p) == "ops" for found in re.findall(STRUCT, text(p))]
    abstract = {"BlockQuant", "MxQuant", "AffineOp", "RmsNorm"}
    by_itself = {"GroupedMatmul", "GroupedMatmulLists"}  # no call has all of its arrays
    assert {name for name, base in structs if name not in abstract | by_itself} == tried
    assert abstract < {base for _, base in structs}


def test_the_c_api_has_every_family() -> None:
    stems = {p.stem for p in CSRC.glob("aclnn/src/*.cpp")}
    own = {IN_ACLNN_WITH.get(f, f) for f in FAMILIES if f not in NOT_IN_ACLNN}
    assert stems == own | SHARED_ACLNN


INTRINSIC = (
    r"\b_mm\d*_|\b__m\d+|__builtin_ia32|\bv[a-z]+q_[fsu]\d|immintrin|emmintrin|xmmintrin|arm_neon"
)
CPU_SWITCH = r"#\s*(if|elif|ifdef|ifndef).*(__SSE|__AVX|__x86_64|__aarch64|__ARM|__F16C|__FMA|NPU_QUANT_TARGET)"


def test_intrinsics_and_cpu_switches_live_in_simd() -> None:
    others = [p for p in CPP if room_of(p) != "simd"]
    assert found_in(others, INTRINSIC, CPU_SWITCH) == []


def test_kernels_are_maths_only() -> None:
    """Templates of std:: would be weak symbols."""
    kernels = sorted((CSRC / "kernels").rglob("*.*"))
    other = r"\bthrow\b|\bPy[A-Z_]|pybind11|std::thread|TensorView|\bShape\b|#\s*if"
    weak = r"\bstd::(?!size_t|memcpy|memset|uintptr_t|index_sequence)\w+"
    assert found_in(kernels, other, weak) == []


# Of the C API's files two carry a caller's own numbers: arrays of attributes, and single values.
CONTRACTS_AND_FACES = [
    p
    for room in ("ops", "python", "aclnn/src")
    for p in sorted((CSRC / room).rglob("*.*"))
    if p.name not in ("arrays.cpp", "float16.cpp")
]


def test_contracts_and_faces_have_no_arithmetic_on_elements() -> None:
    """No element is read there: no pointer to an element type, no simd, no rounding."""
    elements = r"(float|int8_t|uint16_t)\s*\*|simd/|\b(rint|nearbyint|round)\w*\("
    assert found_in(CONTRACTS_AND_FACES, elements) == []


def test_rooms_depend_on_the_rooms_below_only() -> None:
    allowed = {
        "core": {"core"},
        "simd": {"core", "simd"},
        "kernels": {"core", "simd", "kernels"},
        "ops": {"core", "kernels", "ops"},
        "quantizer": {"core", "ops", "quantizer"},
        "python": {"core", "ops", "quantizer", "python"},
        "aclnn": {"core", "ops", "acl", "aclnn", "aclnnop", "opdev"},
    }
    for path in CPP:
        for room in re.findall(r'#include "(\w+)/', text(path)):
            assert room in allowed[room_of(path)], path


# The rooms of golden/, each of which imports those before it only.
GOLDEN = ["tie_results", "results", "explanation_results", "folder_results", "elements", "sources"]
GOLDEN += ["sides", "measure", "operators", "judge", "report", "api", "folders"]


def imported(path: Path, top: Path) -> Iterator[str]:
    """Yield the modules below a package that one of its modules imports, wherever it does."""
    here = ["npu_quant", "golden", *path.relative_to(top).with_suffix("").parts]
    for node in ast.walk(tree(path)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            base = here[: -node.level] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{module}.{a.name}" for a in node.names]
        for name in names:
            if name.startswith("npu_quant.golden."):
                yield name.removeprefix("npu_quant.golden.")


def test_the_rooms_of_golden_depend_on_those_below_only() -> None:
    """At the top, in functions and under TYPE_CHECKING alike."""
    top = ROOT / "python/npu_quant/golden"
    paths = [p for p in sorted(top.rglob("*.py")) if p != top / "__init__.py"]
    assert {p.relative_to(top).parts[0].removesuffix(".py") for p in paths} == set(GOLDEN)
    for path in paths:
        own = GOLDEN.index(path.relative_to(top).parts[0].removesuffix(".py"))
        for name in imported(path, top):
            assert GOLDEN.index(name.partition(".")[0]) <= own, (path, name)


def test_files_import_nothing_of_golden() -> None:
    """Readers are below all that compares, quantizes or checks what they read."""
    for path in sorted((ROOT / "python/npu_quant/files").glob("*.py")):
        assert re.findall(r"from \.\.(golden|checkpoint|commands)", text(path)) == [], path


def test_no_module_of_golden_imports_in_a_circle() -> None:
    top = ROOT / "python/npu_quant/golden"
    known = {".".join(p.relative_to(top).with_suffix("").parts): p for p in top.rglob("*.py")}
    left = {
        name: {
            k for k in known if k != name and any(i == k or i.startswith(f"{k}.") for i in found)
        }
        for name, found in ((name, set(imported(path, top))) for name, path in known.items())
        if not name.endswith("__init__")
    }
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    assert left == {}


def test_no_module_is_called_like_a_function_in_it() -> None:
    """It would be hidden by it, where a package offers the function."""
    for path in sorted((ROOT / "python").rglob("*.py")):
        names = [n.name for n in tree(path).body if isinstance(n, ast.FunctionDef)]
        assert path.stem not in names, path


def test_files_are_short() -> None:
    lengths = {str(p): len(text(p).splitlines()) for p in CPP + CPP_TESTS + PYTHON}
    assert {path: n for path, n in lengths.items() if n > 400} == {}


def functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions in a node, of which an expression has none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield child
        if not isinstance(child, ast.expr):
            yield from functions(child)


def test_python_functions_are_short() -> None:
    """At most 40 lines, docstring not counted."""
    long = []
    for path in PYTHON:
        for node in functions(tree(path)):
            documented = ast.get_docstring(node) is not None
            first = node.body[1 if documented and len(node.body) > 1 else 0]
            if (node.end_lineno or 0) - first.lineno >= 40:
                long.append((str(path), node.name))
    assert long == []


NO_SIGNATURE = r"#|namespace|for\b|if\b|while\b|switch\b|return\b|else\b"


def cpp_bodies(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the lines that open and close each body whose signature begins at a margin of 2 or less."""
    code = [re.sub(r"\s*//.*", "", line) for line in lines]
    for start, line in enumerate(code):
        margin = len(line) - len(line.lstrip())
        if "(" not in line or margin > 2 or re.match(NO_SIGNATURE, line.lstrip()):
            continue
        # A signature that is wrapped ends on a later line.
        opening = start
        while not re.search(r"[;{}\\]$", code[opening]) and opening + 1 < len(code):
            opening += 1
        signature = " ".join(code[start : opening + 1])
        is_whole = signature.count("(") == signature.count(")")
        if is_whole and re.search(r"\)[^;]*\{$", signature):
            close = " " * margin + "}"
            yield opening, next(i for i in range(opening, len(code)) if code[i].startswith(close))


def test_a_wrapped_signature_hides_no_body() -> None:
    wrapped = ["void long_name(int first,", "               int second) {", "  first;", "}"]
    assert list(cpp_bodies(wrapped)) == [(1, 3)]
    constructor = ["  Thing(int a)", "      : a_(a),", "        b_(a) {", "    a;", "  }"]
    assert list(cpp_bodies(constructor)) == [(2, 4)]
    assert list(cpp_bodies(["int f(int a,", "      int b);", "struct S {", "};"])) == []


def test_cpp_functions_are_short() -> None:
    """At most 40 lines: what stands between a line that opens a body and the brace that closes it."""
    for path in CPP + CPP_TESTS:
        lines = text(path).splitlines()
        long = [lines[start] for start, end in cpp_bodies(lines) if end - start > 40]
        assert long == [], path


SKIPS = r"importorskip|mark\.skip|^ +pytest\.skip\(|^import torch|^from torch"
# Combinations of parameters that do not exist; and who skips what is not there.
MAY_SKIP = {
    "conftest.py",
    "test_codebase.py",
    "test_golden_operators.py",
    "test_pytest_plugin_start.py",
}


def test_what_may_be_missing_is_marked() -> None:
    """By needs(...), which conftest.py heeds: no other way to skip a test, and no torch that must be there."""
    paths = [p for p in sorted(ROOT.glob("tests/**/*.py")) if p.name not in MAY_SKIP]
    paths = [p for p in paths if p.parent.name != "simulated"]  # run where torch is there
    found = {str(path): re.findall(SKIPS, text(path), re.MULTILINE) for path in paths}
    assert {path: skips for path, skips in found.items() if skips} == {}


RUNTIME = {"version", "target", "targets", "prefetch", "set_target", "set_prefetch", "compiler"}
RUNTIME |= {"check_numerics", "list_numerics", "formats"}
RUNTIME |= {"streaming", "set_streaming", "set_shares_small_work"}
RUNTIME |= {"get_num_threads", "set_num_threads", "is_tensor", "array_of"}
RUNTIME |= {"compare", "weight_error"}


def test_the_module_holds_the_operators_and_nothing_unlisted() -> None:
    builtin = {name for name, thing in vars(_core).items() if inspect.isbuiltin(thing)}
    assert set(ops.__all__) == builtin - RUNTIME
    assert sorted(npu_quant.__all__) == npu_quant.__all__
    assert set(ops.__all__) < set(npu_quant.__all__)


def test_git_sees_no_path_of_a_machine() -> None:
    files = subprocess.run(
        ["git", "grep", "-lE", "/(home|root)/[a-z]"], cwd=ROOT, capture_output=True, text=True
    )
    assert files.stdout == ""
