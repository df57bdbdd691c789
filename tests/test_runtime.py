"""Threads, fork, memory, import, environment variables, profiles: what holds for every operator."""

from __future__ import annotations

import contextvars
import multiprocessing
import os
import platform
import re
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from witnesses import assert_same_bits, normal

import npu_quant
from npu_quant import _command, _core
from npu_quant.ops import dynamic_quant


def python(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an interpreter of its own."""
    cleared = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS",)}
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=cleared | environment,
        check=False,
    )


LARGE = normal(np.random.default_rng(3), (2048, 4096), np.dtype(np.float16))


def quantize_large() -> bytes:
    """Return the codes of a call that is large enough for every thread."""
    return npu_quant.npu_dynamic_quant(LARGE).y.tobytes()


@pytest.mark.usefixtures("threads")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_computes_after_the_parent_used_threads() -> None:
    npu_quant.set_num_threads(4)
    expected = quantize_large()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        results = [pool.apply_async(quantize_large) for _ in range(4)]
        assert all(result.get(timeout=60) == expected for result in results)
    assert quantize_large() == expected


@pytest.mark.usefixtures("threads")
def test_callers_in_several_python_threads() -> None:
    npu_quant.set_num_threads(3)
    expected = quantize_large()
    wrong: list[int] = []

    def call(i: int) -> None:
        if any(quantize_large() != expected for _ in range(5)):
            wrong.append(i)

    callers = [threading.Thread(target=call, args=(i,)) for i in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_resident_memory_stays_flat() -> None:
    """Over many calls, large and small, good and bad; in kilobytes, after the buffers have settled."""

    def calls() -> None:
        for _ in range(30):
            y, _ = npu_quant.npu_dynamic_quant(LARGE)
            npu_quant.npu_dynamic_block_quant(LARGE, out=(y, None))
        for _ in range(3000):
            npu_quant.npu_dynamic_quant(LARGE[:1, :64])
            with pytest.raises(npu_quant.DTypeError):
                npu_quant.npu_dynamic_quant([1.0])

    calls()
    before = resident_kib()
    calls()
    assert resident_kib() - before < 4096


def resident_kib() -> int:
    """Return the resident set size of this process."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() // 1024


def test_references_are_given_back() -> None:
    x = np.ones((4, 64), np.float16)
    y, scale = np.empty((4, 64), np.int8), np.empty(4, np.float32)
    counts = [sys.getrefcount(a) for a in (x, y, scale, None)]
    for _ in range(1000):
        npu_quant.npu_dynamic_quant(x, out=(y, scale))
        npu_quant.npu_dynamic_quant(x, out=(None, scale))
        with pytest.raises(npu_quant.ParamError):
            npu_quant.npu_dynamic_quant(x, out=(y, scale[:3]))
    grown = [sys.getrefcount(a) - c for a, c in zip((x, y, scale, None), counts, strict=True)]
    assert all(g < 50 for g in grown)


IMPORT = """
import sys, time
start = time.process_time()
import numpy, ml_dtypes
numpy_seconds = time.process_time() - start
before = set(sys.modules)
start = time.process_time()
import npu_quant
print(numpy_seconds, time.process_time() - start)
loaded = set(sys.modules) - before
new = {name.partition(".")[0] for name in loaded}
new -= set(sys.stdlib_module_names) | {"npu_quant", "numpy"}
print(*sorted(new | loaded & {"numpy.ma"}))  # a sixth of NumPy's own time
"""


def test_import_is_light() -> None:
    """Best of five, it takes less than NumPy and ml_dtypes; and nothing else is loaded."""
    runs = [python(IMPORT).stdout.splitlines() for _ in range(5)]
    of_numpy, own = zip(*(map(float, run[0].split()) for run in runs), strict=True)
    assert min(own) < min(of_numpy)
    assert {run[1] for run in runs} == {""}


# The instruction set that every CPU has.
BASELINE = "neon" if platform.machine() == "aarch64" else "baseline"
PROFILES = ", ".join(npu_quant.list_numerics())


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("NPU_QUANT_TARGET", "sse9", f"NPU_QUANT_TARGET is 'sse9', available: {BASELINE}"),
        ("NPU_QUANT_TARGET", "", f"NPU_QUANT_TARGET is '', available: {BASELINE}"),
        ("NPU_QUANT_PREFETCH", "l3", "NPU_QUANT_PREFETCH is 'l3', available: l1, l2."),
        ("NPU_QUANT_NUMERICS", "fast", f"NPU_QUANT_NUMERICS is 'fast', available: {PROFILES}."),
        (
            "NPU_QUANT_NUM_THREADS",
            "0",
            "NPU_QUANT_NUM_THREADS is '0', available: a whole number from 1 to 4096",
        ),
        ("NPU_QUANT_NUM_THREADS", "two", "NPU_QUANT_NUM_THREADS is 'two', available"),
    ],
)
def test_bad_environment_is_an_import_error(variable: str, value: str, message: str) -> None:
    done = python("import npu_quant", **{variable: value})
    assert done.returncode == 1
    assert f"ImportError: npu_quant: {message}" in done.stderr


@pytest.mark.parametrize("way", ["SCRIPT", "-m npu_quant", "-X dev -mnpu_quant", "-Im npu_quant"])
@pytest.mark.parametrize("name", ["NPU_QUANT_TARGET", "NPU_QUANT_NUMERICS"])
def test_the_command_says_so_in_a_line(tmp_path: Path, name: str, way: str) -> None:
    """Though it is the import of the package that fails, before there is a command."""
    script = tmp_path / "npu-quant"  # as pip writes it
    script.write_text("import sys\nfrom npu_quant.cli import main\nsys.exit(main())\n")
    words = [str(script) if word == "SCRIPT" else word for word in way.split()]

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *words, "info"]
        environment = os.environ | {name: "avx9"} | more
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    done = run()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"npu-quant: {name} is 'avx9', available: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" in run(NPU_QUANT_TRACEBACK="1").stderr


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (["ml_dtypes"], "ml_dtypes is not installed. Run: PYTHON -m pip install ml_dtypes"),
        (
            ["numpy", "ml_dtypes"],
            "numpy and ml_dtypes are not installed. Run: PYTHON -m pip install numpy ml_dtypes",
        ),
    ],
)
def test_what_is_not_installed_is_named(missing: list[str], said: str) -> None:
    done = python(f"import sys; sys.modules |= dict.fromkeys({missing}); import npu_quant")
    line = f"ImportError: npu_quant: {said.replace('PYTHON', sys.executable)}"
    assert done.stderr.splitlines()[-1] == line


def test_what_the_package_needs_is_all_named() -> None:
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    dependencies = re.findall('"([a-z_]+)', text.partition("\ndependencies = ")[2].splitlines()[0])
    assert sorted([*_command.NEEDED, "rich"]) == sorted(dependencies)


def test_what_draws_tables_is_not_needed_to_compute() -> None:
    made = "npu_quant.npu_dynamic_quant(numpy.ones((1, 4), numpy.float16)).y.tolist()"
    done = python(f"import sys; sys.modules['rich'] = None; import numpy, npu_quant; print({made})")
    assert done.stdout == "[[127, 127, 127, 127]]\n"


INTERRUPTED = """\
import os, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == os.environ["AT"]:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # which background jobs lack
sys.meta_path.insert(0, Finder())
from npu_quant.cli import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "module",
    ["numpy", "ml_dtypes", "npu_quant.quantizer", "npu_quant.cli", "npu_quant.commands.info"],
)
def test_ctrl_c_while_the_command_imports(tmp_path: Path, module: str) -> None:
    script = tmp_path / "npu-quant"
    script.write_text(INTERRUPTED)
    command, environment = [sys.executable, script, "info"], os.environ | {"AT": module}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    face = "npu-quant info" if module.endswith("info") else "npu-quant"
    assert (done.returncode, done.stdout, done.stderr) == (130, "", f"{face}: interrupted\n")


@pytest.mark.parametrize("name", ["l1", "l2"])
def test_prefetch_from_environment(name: str) -> None:
    program = "import npu_quant; print(npu_quant.info()['prefetch'])"
    assert python(program, NPU_QUANT_PREFETCH=name).stdout.strip() == name


@pytest.mark.parametrize("name", _core.targets())
def test_target_from_environment(name: str) -> None:
    program = "import npu_quant; print(npu_quant.info()['target'])"
    assert python(program, NPU_QUANT_TARGET=name).stdout.strip() == name


@pytest.mark.parametrize(
    ("environment", "threads"),
    [
        ({"NPU_QUANT_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, 3),
        ({"OMP_NUM_THREADS": "5"}, 5),
        ({"OMP_NUM_THREADS": "4,2"}, 4),
        ({"OMP_NUM_THREADS": "nonsense"}, len(os.sched_getaffinity(0))),
        ({}, len(os.sched_getaffinity(0))),
    ],
)
def test_threads_from_environment(environment: dict[str, str], threads: int) -> None:
    program = "import npu_quant; print(npu_quant.get_num_threads())"
    assert python(program, **environment).stdout.strip() == str(threads)


def test_without_threads_the_caller_does_the_work() -> None:
    """Under a limit of address space there is no room for a thread's stack."""
    program = """
import resource, numpy as np, npu_quant
x = np.ones((4096, 4096), np.float16)
y, s = np.empty(x.shape, np.int8), np.empty(4096, np.float32)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), resource.RLIM_INFINITY))
npu_quant.set_num_threads(4)
npu_quant.npu_dynamic_quant(x, out=(y, s))
print(int(y.min()), int(y.max()))
"""
    assert python(program).stdout.split() == ["127", "127"]


def test_numerics_is_a_context() -> None:
    assert npu_quant.list_numerics() == ["reference", "ascend910b", "ascend950"]
    assert npu_quant.info()["numerics"] == "reference"
    with npu_quant.numerics("reference"):
        assert npu_quant.info()["numerics"] == "reference"
    x = np.ones((1, 4), np.float16)
    assert_same_bits(
        npu_quant.npu_dynamic_quant(x, numerics="reference"), dynamic_quant.reference(x)
    )


def test_the_default_profile_is_looked_up_where_the_call_is() -> None:
    """A context in which the default is unknown: the operator refuses, and only there."""
    x = np.ones((1, 4), np.float16)

    def call_with(name: str) -> Any:
        _core.numerics_default.set(name)
        return npu_quant.npu_dynamic_quant(x)

    with pytest.raises(npu_quant.ParamError, match="numerics is 'nowhere'"):
        contextvars.copy_context().run(call_with, "nowhere")
    npu_quant.npu_dynamic_quant(x)


def test_exit_while_daemon_threads_compute() -> None:
    """The interpreter ends threads that ask for it back; that must not end in an abort."""
    program = """
import threading, time
import numpy as np, npu_quant
x = np.ones((512, 4096), np.float16)
def loop():
    while True:
        npu_quant.npu_dynamic_quant(x)
for _ in range(3):
    threading.Thread(target=loop, daemon=True).start()
time.sleep(0.2)
"""
    for _ in range(3):
        done = python(program)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.usefixtures("threads")
def test_many_threads_once_cost_nothing_later() -> None:
    """Threads beyond the number asked for stay asleep: a call on three threads wakes two."""
    npu_quant.set_num_threads(300)
    quantize_large()
    npu_quant.set_num_threads(3)
    assert len(times_slept()) >= 300

    def woken() -> int:
        before = times_slept()
        for _ in range(10):
            quantize_large()
        after = times_slept()
        return sum(after[thread] > before[thread] for thread in before)

    # At first some still go to sleep after the call on 300.
    assert min(woken() for _ in range(5)) <= 50


def times_slept() -> dict[str, int]:
    """Return how often each thread of this process has given up its CPU to wait."""
    waits = "voluntary_ctxt_switches:"
    return {
        task.name: int((task / "status").read_text().split(waits)[1].split()[0])
        for task in Path("/proc/self/task").iterdir()
    }


def test_info() -> None:
    info = npu_quant.info()
    assert info["version"] == npu_quant.__version__
    assert info["target"] in info["targets"]
    assert info["targets"][0] == BASELINE
    assert info["threads"] == npu_quant.get_num_threads()
    assert "npu_dynamic_quant" in info["features"]


AVX2 = {"avx2", "fma", "f16c", "bmi2"}
AVX512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vbmi", "avx512_vnni"}


@pytest.mark.needs("x86-64")
def test_the_targets_are_those_the_system_speaks_of() -> None:
    """Were one missed, everything would be right and slow."""
    flags = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    assert flags is not None
    there = set(flags[1].split())
    best = 1 + (there >= AVX2) + (there >= AVX2 | AVX512)
    assert npu_quant.info()["targets"] == ["baseline", "avx2", "avx512"][:best]


@pytest.mark.usefixtures("target")
def test_threads_with_a_small_stack() -> None:
    """Kernels keep their buffers on the stack: some tens of KiB."""
    x = np.asfortranarray(np.ones((40, 5000), np.float32))
    row, done = np.ones(5000, np.float32), []

    def work() -> None:
        npu_quant.npu_add_rms_norm_quant(x, x, row, row, None, None, row)
        npu_quant.npu_quantize(x, row, None, "int8")
        npu_quant.fake_quantize_per_channel_affine(x, row, row, 1, -128, 127)
        npu_quant.npu_dynamic_quant(x)
        npu_quant.npu_dynamic_quant_asymmetric(x, smooth_scales=row)
        npu_quant.npu_dynamic_block_quant(x)
        done.append(True)

    before = threading.stack_size(128 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert done
