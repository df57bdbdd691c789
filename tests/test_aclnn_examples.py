"""The programs of examples/aclnn and a toolkit's documented one: they build and print what they should."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import npu_quant

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "aclnn"
COMPILERS = ["g++", pytest.param("clang++", marks=pytest.mark.needs("clang"))]
SANITIZE = ("-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
WARNINGS = ("-Wall", "-Wextra", "-Werror")
# By hand, as the comment in each program shows.
PRINTED = {
    "rms_norm": {
        "result": "1.000000 -2.000000 3.000000 -4.000000 2.000000 0.000000 0.000000 0.000000",
        "rstd": "0.500000 0.500000",
    },
    "add_rms_norm": {
        "result": "1.000000 -2.000000 3.000000 -4.000000 2.000000 0.000000 0.000000 0.000000",
        "rstd": "0.500000 0.500000",
        "x": "2.000000 -2.000000 2.000000 -2.000000 4.000000 0.000000 0.000000 0.000000",
    },
    "add_rms_norm_quant": {
        "result": "10 -15 30 -128 20 5 0 -100",
        "result2": "2 -4 6 -8 4 0 0 0",
        "x": "2.000000 -2.000000 2.000000 -2.000000 4.000000 0.000000 0.000000 0.000000",
    },
    "add_rms_norm_quant_v2": {
        "result": "10 -12 16 -32",
        "x": "2.000000 -2.000000 2.000000 -2.000000",
        "norm": "1.250000 -1.500000 2.000000 -4.000000",
    },
    "ascend_anti_quant": {"result": "-60.000000 -1.000000 32.000000 4.500000 1.000000 1.000000"},
    "ascend_quant": {"result": "2 -2 6 127 0 17"},
    "ascend_quant_v3": {"result": "4 -8 0 2 -2 4"},
    "ascend_quant_v3_int4": {
        "result": "194 134 113 135",
        "value": "1.000000 -2.000000 3.000000 -4.000000 0.500000 3.500000 3.500000 -4.000000",
    },
    "dequant_swiglu_quant": {"result": "21 -127 0 0", "scale": "0.472441 0.000000"},
    "dequant_swiglu_quant_v2": {"result": "240", "scale": "165.333328"},
    "grouped_matmul_v4": {"result": "21.000000 6.000000 8.500000 13.500000 46.000000 34.000000"},
    "grouped_matmul_v5": {
        "result": "21.500000 12.000000 17.500000 54.000000",
        "result2": "24.000000 36.000000",
    },
    "grouped_matmul_swiglu_quant_v2": {
        "result": "127 40 0 127 0 0",
        "scale": "0.503937 75.590553 0.000000",
    },
    "grouped_matmul_swiglu_quant": {
        "result": "127 40 0 127 0 0",
        "scale": "0.503937 75.590553 0.000000",
    },
    "swiglu_group_quant": {"result": "122 224 122 224 0 0", "scale": "128 0 127 0 0 0"},
    "dynamic_dual_level_mx_quant": {"result": "199 80", "scale": "16.000000", "scale2": "127 0"},
    "swi_glu": {"result": "10.000000 -32.000000 0.000000 36.000000"},
    "swi_glu_quant": {"result": "21 -127 32 127", "scale": "1.058333 3.175000"},
    "swi_glu_quant_v2": {"result": "132"},
    "convert_weight_to_int4_pack": {"result": "0xfedcba98 0x76543210"},
    "dequant_bias": {"result": "2.000000 4.000000 11.000000 41.000000 100.000000 239.000000"},
    "dynamic_block_quant": {"result": "127 -1 0 127 50 -2", "scale": "1.000000 2.000000"},
    "dynamic_block_quant_v2": {
        "result": " ".join(map(str, [*range(128), -127, 2])),
        "scale": "1.000000 2.000000",
    },
    "dynamic_block_quant_float8": {
        "result": " ".join(map(str, [126, *[56] * 127, 126, 56, *[56] * 128, 192, 0])),
        "scale": "1.000000 2.000000",
    },
    "anti_mx_quant": {"value": "1.000000 2.000000 12.000000 -12.000000"},
    "dynamic_mx_quant": {"result": "112 126 248 40 124 0", "scale": "120 0 127 0"},
    "dynamic_mx_quant_v2": {"result": "167 21", "scale": "127 0"},
    "dynamic_mx_quant_v3": {"result": "126 48 48 168", "scale": "128 0 127 0"},
    "dynamic_mx_quant_with_dual_axis": {
        "result": "112 252 56 126",
        "scale": "120 0 127 0",
        "result2": "120 196 120 126",
        "scale2": "119 0 127 0",
    },
    "dynamic_mx_quant_with_dual_axis_v2": {
        "result": "167 39",
        "scale": "127 0 126 0",
        "result2": "231 69",
        "scale2": "127 0 125 0",
    },
    "dynamic_quant": {"result": "127 -32 32 1 1 0 2 -127", "scale": "1.000000 0.500000"},
    "dynamic_quant_v2": {"result": "127 2 4 -127 40 0", "scale": "1.000000 0.250000"},
    "dynamic_quant_v2_experts": {
        "result": "127 -2 127 127 127 64 0 -127",
        "scale": "1.000000 2.000000 1.000000 1.000000",
    },
    "dynamic_quant_v3": {"result": "0 0 127 -2", "scale": "0.000000 2.000000"},
    "dynamic_quant_v4": {"result": "127 -8 4 0", "scale": "0.125000"},
    "fake_quant_per_channel_affine_cachemask": {
        "result": "1.000000 2.000000 4.000000 -4.000000 -9.000000 16.000000",
        "mask": "1 1 1 0 0 0",
    },
    "fake_quant_per_tensor_affine_cachemask": {
        "result": "0.500000 1.000000 -2.000000 1.500000 -3.000000 0.000000",
        "mask": "1 1 1 0 0 1",
    },
    "group_quant": {"result": "2 -2 3 127 1 0 2 127"},
    "moe_finalize_routing": {"result": "15.000000 26.500000 43.000000 59.000000"},
    "moe_finalize_routing_v2": {"result": "15.000000 26.500000 43.000000 59.000000"},
    "moe_init_routing_v3": {
        "result": "127 -2 32 127 127 -2 0 0",
        "row": "2 0 1 -1",
        "scale": "1.000000 2.000000 1.000000 0.000000",
    },
    "moe_token_permute": {
        "result": "1.000000 2.000000 1.000000 2.000000",
        "row": "2 0 1 3",
    },
    "moe_token_unpermute": {"result": "2.750000 3.500000 3.000000 4.000000"},
    "quant_matmul_v4": {"result": "11.500000 12.000000 -27.000000 3.125000 13.500000 -31.500000"},
    "quant_matmul_v5": {"result": "12.000000 4.000000"},
    "quant_scatter": {"result": "0 0 0 0 2 0 0 0 0 0 0 0"},
    "quant_scatter_v2": {"result": "0 0 8 140 0 0 96 82"},
    "trans_quant_param_v2": {"result": "0x40203f800000 0x7fc0c0000000 0x5fe03f000000"},
    "trans_quant_param_v3": {"result": "0x40003f802000 0x40003f802000"},
    "weight_quant_batch_matmul_v2": {"result": "6 12 -128"},
    "weight_quant_batch_matmul_v3": {"result": "12.000000 12.000000 -32.000000"},
}
LEAK = "int main() { int* volatile p = new int; p = nullptr; return p != nullptr; }"


def lines_of(program: str) -> list[str]:
    return [
        f"{name}[{i}] is: {value}"
        for name, values in PRINTED[program].items()
        for i, value in enumerate(values.split())
    ]


def run(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run with these environment variables and no other."""
    return subprocess.run(
        [str(word) for word in command],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def compile_and_link(compiler: str, source: Path, program: Path, *flags: str) -> None:
    """Compile as an Ascend toolkit's page says."""
    prefix = Path(npu_quant.aclnn_prefix())
    include, lib64 = prefix / "include", prefix / "lib64"
    done = run(
        compiler,
        *flags,
        *(f"-I{folder}" for folder in (include, include / "aclnn", include / "aclnnop")),
        source,
        *("-o", program, f"-L{lib64}", "-lopapi_nn", "-lopapi_math", "-lascendcl", "-lnnopbase"),
        f"-Wl,-rpath,{lib64}",
        PATH=os.environ["PATH"],
    )
    assert done.returncode == 0, done.stderr


def shell(folder: Path, lines: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a page's lines in a folder, with this Python and its tools first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-eu", "-c", "\n".join(lines)],
        cwd=folder,
        env=os.environ | {"PATH": path} | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def copied_to(folder: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("build", ".*")))


@pytest.fixture(scope="session")
def recipes() -> list[list[str]]:
    """The commands of the page: by hand, and with CMake."""
    page = (EXAMPLES / "README.md").read_text()
    blocks = re.findall(r"(?:^ {4}.+\n)+", page, re.MULTILINE)
    return [[line.strip() for line in block.splitlines()] for block in blocks]


@pytest.fixture(scope="session")
def sanitizer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment to run sanitized programs in, with leaks looked for where that works."""
    folder = tmp_path_factory.mktemp("leak")
    (folder / "leak.cpp").write_text(LEAK)
    compile_and_link("g++", folder / "leak.cpp", folder / "leak", *SANITIZE)
    found = run(folder / "leak", ASAN_OPTIONS="detect_leaks=1")
    works = "detected memory leaks" in found.stderr
    return {"ASAN_OPTIONS": f"detect_leaks={int(works)}", "UBSAN_OPTIONS": "print_stacktrace=1"}


def test_every_program_is_listed() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.cpp")} == set(PRINTED)


def test_all_print_what_they_should_and_give_everything_back(
    recipes: list[list[str]], sanitizer: dict[str, str], tmp_path: Path
) -> None:
    """Built by the page's CMake commands, sanitized; and g++ warns of nothing."""
    folder = copied_to(tmp_path / "examples")
    flags = {"CXX": "g++", "CXXFLAGS": " ".join([*WARNINGS, *SANITIZE])}
    done = shell(folder, recipes[1], **flags, **sanitizer)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("\n".join(lines_of("dynamic_quant")) + "\n")
    wrong = {}
    for program in PRINTED:
        done = run(folder / "build" / program, **sanitizer)
        said = (done.returncode, done.stderr, done.stdout.splitlines())
        if said != (0, "", lines_of(program)):
            wrong[program] = said
    assert wrong == {}


def test_by_hand(recipes: list[list[str]], tmp_path: Path) -> None:
    assert len(recipes) == 2
    assert len(recipes[0]) == 3
    done = shell(copied_to(tmp_path / "examples"), recipes[0])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == lines_of("dynamic_quant")


@pytest.mark.needs("clang")
def test_clang_warns_of_nothing() -> None:
    include = Path(npu_quant.aclnn_prefix()) / "include"
    for source in sorted(EXAMPLES.glob("*.cpp")):
        flags = ("-std=c++11", *WARNINGS, "-fsyntax-only", f"-I{include}")
        done = run("clang++", *flags, source, PATH=os.environ["PATH"])
        assert (done.returncode, done.stderr) == (0, ""), source.name


@pytest.fixture
def document_program(tmp_path: Path) -> Path:
    """The program of aclnnAddRmsNormQuant's page, as it stands there."""
    page = Path(os.environ["NPU_QUANT_ASCEND_DOC"]).read_text(encoding="utf-8")
    (program,) = re.findall(r"^```Cpp\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    source = tmp_path / "document.cpp"
    source.write_text(program, encoding="utf-8")
    return source


def check_document_output(done: subprocess.CompletedProcess[str]) -> None:
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "".join(f"result[{i}] is: 100\n" for i in range(128))


@pytest.mark.needs("NPU_QUANT_ASCEND_DOC")
@pytest.mark.parametrize("standard", ["c++11", "c++17"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_document(compiler: str, standard: str, document_program: Path, tmp_path: Path) -> None:
    compile_and_link(compiler, document_program, tmp_path / "document", f"-std={standard}")
    check_document_output(run(tmp_path / "document"))


@pytest.mark.needs("NPU_QUANT_ASCEND_DOC")
def test_document_gives_everything_back(
    document_program: Path, sanitizer: dict[str, str], tmp_path: Path
) -> None:
    compile_and_link("g++", document_program, tmp_path / "document", "-std=c++11", *SANITIZE)
    check_document_output(run(tmp_path / "document", **sanitizer))
