"""The installed C API: link names in any choice and order, dlopen, CMake, pkg-config, the command line."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import npu_quant
from npu_quant import _core, cli

PREFIX = Path(npu_quant.aclnn_prefix())
LIB = PREFIX / "lib64"
LIBRARY = "npu_quant_aclnn"
# Both faces' operators and kernels; the version is in its name, so that two installations do not mix.
SHARED = f"npu_quant-{npu_quant.__version__}"
LINK_NAMES = ["ascendcl", "acl_rt", "nnopbase", "opapi", "opapi_math", "opapi_nn", "cust_opapi"]
DECLARATION = re.compile(r"^(?:ACL_FUNC_VISIBILITY|ACLNN_API) .*?(\w+)\(", re.MULTILINE)
FUNCTIONS = sorted(
    name for p in PREFIX.rglob("*.h") for name in DECLARATION.findall(p.read_text())
)  # fmt: skip

# Arguments in registers of both kinds and on the stack, and state that lives in the library.
PROGRAM = """
#include <cstdio>
#include "acl/acl.h"
#include "aclnnop/aclnn_dynamic_quant.h"
int main() {
  int first = aclInit(nullptr), second = aclInit(nullptr);
  void* block = nullptr;
  int made = aclrtMalloc(&block, 8, ACL_MEM_MALLOC_HUGE_FIRST);
  int64_t dims[] = {2, 3}, offset = 0;
  aclTensor* x = aclCreateTensor(dims, 2, aclDataType::ACL_FLOAT, nullptr, 7, aclFormat::ACL_FORMAT_ND, dims, 2, block);
  int seen = aclGetViewOffset(x, &offset);
  uint64_t size = 0;
  aclOpExecutor* executor = nullptr;
  int refused = aclnnDynamicQuantGetWorkspaceSize(x, nullptr, nullptr, nullptr, &size, &executor);
  std::printf("%d %d %d %d %d %d %#x", first, second, made, seen, (int)offset, refused, aclFloatToFloat16(1));
  aclDestroyTensor(x);
  int freed = aclrtFree(block), again = aclrtFree(block), end = aclFinalize(), ended = aclFinalize();
  std::printf(" %d %d %d %d", freed, again, end, ended);
}
"""
PRINTED = "0 100002 0 0 7 161001 0x3c00 0 107000 0 100037"
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "CMAKE_", "PKG_CONFIG"))}


def run(*command: str | Path, **environment: str) -> str:
    """Run a command that succeeds, in an environment that finds nothing of its own, and return what it prints."""
    done = subprocess.run(
        command, capture_output=True, text=True, env=CLEAN | environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def build(folder: Path, *flags: str | Path) -> Path:
    """Compile the program; a warning of the linker fails the test."""
    source, program = folder / "program.cpp", folder / "program"
    source.write_text(PROGRAM)
    run(
        "g++",
        "-std=c++11",
        "-Wall",
        "-Werror",
        "-Wl,--fatal-warnings",
        source,
        "-o",
        program,
        *flags,
    )
    return program


def link_flags(prefix: Path, names: list[str]) -> list[str]:
    lib = prefix / "lib64"
    return [f"-I{prefix}/include", f"-L{lib}", *(f"-l{n}" for n in names), f"-Wl,-rpath,{lib}"]


DOCUMENTED = ["opapi_nn", "opapi_math", "ascendcl", "nnopbase"]
CHOICES = [[name] for name in [LIBRARY, *LINK_NAMES]]
CHOICES += [DOCUMENTED, DOCUMENTED[::-1], ["acl_rt", "cust_opapi"], [*LINK_NAMES, LIBRARY]]


def test_any_link_names_in_any_order(tmp_path: Path) -> None:
    compiled, program = tmp_path / "compiled.o", tmp_path / "linked"
    build(tmp_path, "-c", "-o", compiled, f"-I{PREFIX}/include")
    for names in CHOICES:
        run("g++", "-Wl,--fatal-warnings", compiled, "-o", program, *link_flags(PREFIX, names))
        assert run(program) == PRINTED, names


def test_without_as_needed_every_name_is_loaded(tmp_path: Path) -> None:
    flags = link_flags(PREFIX, [LIBRARY, *LINK_NAMES])
    program = build(tmp_path, "-Wl,--no-as-needed", *flags)
    assert run(program) == PRINTED
    assert run(program, LD_BIND_NOW="1") == PRINTED


def test_library_files_as_the_documented_build_names_them(tmp_path: Path) -> None:
    files = [LIB / f"lib{name}.so" for name in ("ascendcl", "nnopbase", "opapi_math", "opapi_nn")]
    include = [f"-I{PREFIX / path}" for path in ("include", "include/aclnn", "include/aclnnop")]
    assert run(build(tmp_path, *include, *files, f"-Wl,-rpath,{LIB}")) == PRINTED


@pytest.fixture
def moved(tmp_path: Path) -> Path:
    """Return another place for the folder, whose name has a space."""
    return Path(shutil.copytree(PREFIX, tmp_path / "moved to"))


def test_the_folder_can_be_moved(moved: Path, tmp_path: Path) -> None:
    assert run(build(tmp_path, *link_flags(moved, ["opapi_nn"]))) == PRINTED


def exports(name: str) -> list[str]:
    lines = run("nm", "-D", "--defined-only", LIB / f"lib{name}.so").splitlines()
    return sorted(line.split()[-1] for line in lines)


def test_public_functions_are_exported_and_nothing_else() -> None:
    assert len(FUNCTIONS) > 90
    assert exports(LIBRARY) == sorted([*FUNCTIONS, *(f"npu_quant_{name}" for name in FUNCTIONS)])
    for name in LINK_NAMES:
        assert exports(name) == FUNCTIONS, name


def test_the_shared_library_exports_what_the_faces_call_and_no_kernel() -> None:
    names = exports(SHARED)
    assert names
    assert [name for name in names if not re.match(r"_Z(N|NK|T.N)9npu_quant", name)] == []
    assert [name for name in names if "Kernel" in name] == []


def test_there_are_no_other_libraries() -> None:
    names = [SHARED, LIBRARY, *LINK_NAMES]
    assert sorted(path.name for path in LIB.iterdir()) == sorted(f"lib{n}.so" for n in names)


def python(program: str, *arguments: str) -> str:
    """Run a program in an interpreter of its own."""
    return run(sys.executable, "-c", program, *arguments)


OPEN_ONE = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for name in sys.argv[2:]:
    getattr(library, name)
print(library.aclInit(None), library.aclInit(None), library.aclFinalize(), library.aclFinalize())
"""


@pytest.mark.parametrize("name", [LIBRARY, *LINK_NAMES])
def test_a_name_that_is_opened_has_every_function(name: str) -> None:
    assert python(OPEN_ONE, str(LIB / f"lib{name}.so"), *FUNCTIONS) == "0 100002 0 100037"


OPEN_TWICE = """
import _ctypes, ctypes, sys
library = ctypes.CDLL(sys.argv[1])
code = library.aclInit(None)
_ctypes.dlclose(library._handle)
print(code, ctypes.CDLL(sys.argv[1]).aclInit(None))
"""


def test_closing_a_name_leaves_the_library_and_its_threads() -> None:
    assert python(OPEN_TWICE, str(LIB / "libopapi_nn.so")) == "0 100002"


OPEN_ALL = """
import ctypes, itertools, sys
libraries = [ctypes.CDLL(path) for path in sys.argv[1:]]
for one, other in itertools.permutations(libraries, 2):
    block = ctypes.c_void_p()
    codes = [one.aclInit(None), other.aclInit(None), other.aclFinalize(), one.aclFinalize()]
    codes += [one.aclrtMalloc(ctypes.byref(block), ctypes.c_size_t(8), 0)]
    codes += [other.aclrtFree(block), one.aclrtFree(block)]
    assert codes == [0, 100002, 0, 100037, 0, 0, 107000], codes
print(len(libraries))
"""


def test_names_that_are_opened_share_one_library() -> None:
    """Each in a scope of its own, as dlopen does it."""
    paths = [str(LIB / f"lib{name}.so") for name in [LIBRARY, *LINK_NAMES]]
    assert python(OPEN_ALL, *paths) == str(len(paths))


def test_a_linked_name_and_an_opened_one_share_one_library(tmp_path: Path) -> None:
    source = tmp_path / "opener.cpp"
    source.write_text("""
#include <dlfcn.h>
#include <cstdio>
#include "acl/acl.h"
int main(int, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  void* block = nullptr;
  aclrtMalloc(&block, 8, ACL_MEM_MALLOC_HUGE_FIRST);
  auto release = reinterpret_cast<aclError (*)(void*)>(dlsym(library, "aclrtFree"));
  int freed = release(block);
  std::printf("%d %d", freed, aclrtFree(block));
}
""")
    run("g++", source, "-o", tmp_path / "opener", *link_flags(PREFIX, ["ascendcl"]), "-ldl")
    assert run(tmp_path / "opener", LIB / "libopapi_nn.so") == "0 107000"


BESIDE = """
import ctypes, sys
if sys.argv[1] == "module first":
    import npu_quant
    npu_quant.set_num_threads(3)
library = ctypes.CDLL(sys.argv[2])
library.aclFloatToFloat16.argtypes = [ctypes.c_float]
import npu_quant
half, code = library.aclFloatToFloat16(1.0), npu_quant.quantize_val(0.1, 0, 0.25, "qint8")
shared = {line.split()[-1] for line in open("/proc/self/maps") if sys.argv[3] in line}
print(half == 0x3C00, code == 2, npu_quant.get_num_threads(), len(shared))
"""


@pytest.mark.parametrize(("order", "threads"), [("module first", "3"), ("library first", "2")])
def test_the_library_beside_the_python_module(order: str, threads: str) -> None:
    """They share the operators and the threads; the one loaded second resets nothing."""
    arguments = (order, str(LIB / "libascendcl.so"), SHARED)
    printed = run(sys.executable, "-c", BESIDE, *arguments, NPU_QUANT_NUM_THREADS="2")
    assert printed == f"True True {threads} 1"


def test_c_programs(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(
        '#include "acl/acl.h"\nint main(void) { return aclInit(0) + aclFinalize(); }\n'
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    run("gcc", *flags, source, "-o", tmp_path / "c", *link_flags(PREFIX, ["ascendcl"]))
    run(tmp_path / "c")


@pytest.mark.needs("pkg-config")
def test_pkg_config(moved: Path, tmp_path: Path) -> None:
    path = str(moved / "share/pkgconfig")
    flags = run("pkg-config", "--cflags", "--libs", "npu_quant", PKG_CONFIG_PATH=path)
    assert run(build(tmp_path, *shlex.split(flags))) == PRINTED
    version = run("pkg-config", "--modversion", "npu_quant", PKG_CONFIG_PATH=path)
    assert version == npu_quant.__version__


PROJECTS = {
    "package": f"""
        find_package(npu_quant {npu_quant.__version__} CONFIG REQUIRED)
        add_executable(program program.cpp)
        target_link_libraries(program PRIVATE npu_quant::aclnn)
    """,
    "documented": """
        set(CMAKE_CXX_FLAGS "-std=c++11")
        set(lib ${CMAKE_PREFIX_PATH}/lib64)
        set(include ${CMAKE_PREFIX_PATH}/include)
        include_directories(${include} ${include}/aclnn ${include}/aclnnop)
        add_executable(program program.cpp)
        target_link_libraries(program PRIVATE
          ${lib}/libascendcl.so ${lib}/libnnopbase.so ${lib}/libopapi_math.so ${lib}/libopapi_nn.so)
    """,
}


@pytest.mark.parametrize("project", PROJECTS)
def test_cmake(project: str, moved: Path, tmp_path: Path) -> None:
    (tmp_path / "program.cpp").write_text(PROGRAM)
    head = "cmake_minimum_required(VERSION 3.18)\nproject(program CXX)\n"
    (tmp_path / "CMakeLists.txt").write_text(head + PROJECTS[project])
    beside = Path(sys.executable).with_name("cmake")
    cmake = beside if beside.exists() else "cmake"
    run(cmake, "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={moved}")
    run(cmake, "--build", tmp_path / "build")
    assert run(tmp_path / "build/program") == PRINTED


def test_prefix_is_in_the_package() -> None:
    assert Path(npu_quant.aclnn_prefix()).parent == Path(_core.__file__).resolve().parent
    assert {path.name for path in PREFIX.iterdir()} == {"include", "lib64", "share"}


def test_a_build_without_the_c_api_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(_core, "__file__", str(tmp_path / "_core.so"))
    with pytest.raises(FileNotFoundError, match=r"without its C API.*NPU_QUANT_ACLNN=ON"):
        npu_quant.aclnn_prefix()
    assert cli.main(["aclnn-prefix"]) == 1
    assert capsys.readouterr().err.startswith("npu-quant: npu_quant was built without its C API")


def commands() -> list[list[str]]:
    """The module, and the script where it is installed."""
    script = Path(sys.executable).with_name("npu-quant")
    return [[sys.executable, "-m", "npu_quant"], *([[str(script)]] if script.exists() else [])]


@pytest.mark.parametrize("command", commands(), ids=lambda command: Path(command[-1]).name)
def test_command_line(command: list[str]) -> None:
    assert run(*command, "aclnn-prefix") == str(PREFIX)
    assert run(*command, "--version").startswith(f"npu_quant {npu_quant.__version__} from ")
    assert "aclnn-prefix" in run(*command, "--help")
    for wrong in ([], ["aclnn-prefixes"], ["aclnn-prefix", "more"], ["--unknown"]):
        done = subprocess.run([*command, *wrong], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, ""), wrong
        assert done.stderr.startswith("npu-quant"), wrong
        assert done.stderr.count("\n") == 1, wrong


def test_importing_the_package_reads_no_command_line() -> None:
    assert python("import sys, npu_quant; print('argparse' in sys.modules)") == "False"
