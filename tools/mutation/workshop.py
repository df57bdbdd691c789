"""Copies of the checkout, in which mutants are built and tested."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .mutant import ROOT, Mutant, TableError

# What `pytest -v` prints of a test; where it crashes, last words may follow.
TEST = r"^(tests/[^\[\n]*?::\w+(?:\[.*?\])?)"
FAILED = TEST + r" (?:FAILED|ERROR)\b"
STARTED = TEST + r"(?: |$)"
NOTHING_FAILED, UNKNOWN_TEST = (0, 5), 4  # statuses of pytest; 5: there was no test
TIME_LIMIT = 1800  # seconds; what hangs is found
MODULES = ("_core", "npu_quant_aclnn")
GOOGLETESTS = {
    "npu_quant_tests": "tests/cpp/npu_quant_tests",
    "npu_quant_aclnn_tests": "tests/cpp/aclnn/npu_quant_aclnn_tests",
}


class Workshop:
    """A folder that is kept: what has not changed since the last run is not compiled again.

    `checkout` is what CMake reads, `build` where it builds, `snapshot` a copy of the build without
    any fault, and `clean` the checkout with the modules in its package. A mutant is tested in a
    copy of `clean`; while one is tested another is built, with the lock.
    """

    def __init__(self, folder: Path, tests: Path, processes: int) -> None:
        self.checkout, self.build = folder / "checkout", folder / "build"
        self.snapshot, self.clean = folder / "snapshot", folder / "clean"
        self.folder, self.tests, self.processes = folder, tests, processes
        self.lock = threading.Lock()
        self.trusted: set[str] = set()  # tests known to pass without a fault
        self.left_out: set[str] = set()  # and those known to fail
        # A run in the background may ignore Ctrl-C, and so would what it starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        beside = Path(sys.executable).parent
        self.environment = {
            **os.environ,
            "PATH": f"{beside}{os.pathsep}{os.environ['PATH']}",
            "PYTHONUNBUFFERED": "1",  # what a crash leaves is where it was
        }

    def prepare(self) -> None:
        """Copy the checkout and build it, then compile Python's bytecode once for all copies."""
        for left in self.folder.glob("copy-*"):
            shutil.rmtree(left)
        if self.snapshot.exists():
            mirror(self.snapshot, self.build)  # a run that was ended may have left a fault there
        for copy in (self.checkout, self.clean):
            fill(copy, self.tests)
        self._configure()
        self._compile("all", *GOOGLETESTS)
        self.install(self.clean)
        mirror(self.build, self.snapshot)
        self._run_pytest(self.clean, ["tests", "--collect-only"])
        if failed := self.googletests():
            raise TableError(f"{failed} fails without a fault")

    def runnable_targets(self) -> list[str]:
        """Return the instruction sets that this CPU has."""
        program = "from npu_quant import _core; print(*_core.targets())"
        command = [sys.executable, "-c", program]
        return self._run_limited(command, self.clean)[1].split()

    def _configure(self) -> None:
        pybind11 = self._run(sys.executable, "-m", "pybind11", "--cmakedir").strip()
        options = {
            "CMAKE_BUILD_TYPE": "Release",
            "NPU_QUANT_TESTS": "ON",
            "NPU_QUANT_UNITY": "OFF",  # a mutant is a kernel of one target
            "Python_EXECUTABLE": sys.executable,
            "pybind11_DIR": pybind11,
            "SKBUILD": "ON",  # the C API goes into the package
        }
        settings = [f"-D{name}={value}" for name, value in options.items()]
        self._run("cmake", "-G", "Ninja", "-S", self.checkout, "-B", self.build, *settings)

    def _compile(self, *targets: str) -> None:
        command = ["cmake", "--build", self.build, "-j", str(self.processes), "--target", *targets]
        self._run(*command)

    def _run(self, *command: str | Path) -> str:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=self.environment
        )
        if done.returncode != 0:
            lines = (done.stdout + done.stderr).splitlines()
            errors = [line for line in lines if "error" in line.lower()]
            raise TableError("\n".join([" ".join(map(str, command)), *(errors or lines)[-20:]]))
        return done.stdout

    def install(self, copy: Path) -> None:
        """Put the built modules into the package of a copy."""
        self._run("cmake", "--install", self.build, "--prefix", copy / "python")

    @contextmanager
    def copy(self) -> Iterator[Path]:
        """Give a copy of the checkout with its modules, without a fault."""
        folder = Path(tempfile.mkdtemp(prefix="copy-", dir=self.folder))
        try:
            shutil.copytree(self.clean, folder, dirs_exist_ok=True)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def built(self, mutant: Mutant, *targets: str) -> Iterator[None]:
        """Build a mutant; afterwards the build is as it was, without compiling."""
        path = self.checkout / mutant.file
        with self.lock:
            original, times = path.read_bytes(), path.stat()

            def restore() -> None:
                path.write_bytes(original)
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

            try:
                path.write_text(mutant.source)
                if mutant.target:
                    objects = f"CMakeFiles/npu_quant_kernels_{mutant.target}.dir/csrc/kernels"
                    self._compile(f"{objects}/{mutant.kernel}.cpp.o")
                    restore()  # as old as it was: everything else is up to date
                self._compile(*targets)
                yield
            finally:
                restore()
                mirror(self.snapshot, self.build)

    def pytest(self, copy: Path, options: Sequence[str]) -> str | None:
        """Run tests of a copy; return the first that fails and would not without the fault."""
        while (found := self._first_failure(copy, options)) and self._fails_anyway(found):
            pass
        return found

    def _fails_anyway(self, test: str) -> bool:
        """Say whether a test fails without a fault; then it is left out, and others like it."""
        if test in self.trusted:
            return False
        status, _ = self._run_pytest(self.clean, [test])
        if status in (*NOTHING_FAILED, UNKNOWN_TEST):
            self.trusted.add(test)
            return False
        _, output = self._run_pytest(self.clean, [test.partition("::")[0]])
        failing = {test, *re.findall(FAILED, output, re.M)} - self.left_out
        if failing:  # else another thread was faster
            print(f"left out: {len(failing)} tests that fail without a fault, such as {test}")
        self.left_out |= failing
        return True

    def _first_failure(self, copy: Path, options: Sequence[str]) -> str | None:
        left_out = (f"--deselect={test}" for test in self.left_out)
        status, output = self._run_pytest(copy, ["-x", *left_out, *options])
        if status in NOTHING_FAILED:
            return None
        for pattern in (FAILED, r"^ERROR (tests/\S+\.py)"):
            if found := re.search(pattern, output, re.M):
                return found[1]
        started = re.findall(STARTED, output, re.M)
        return started[-1] if started else "tests/conftest.py"

    def _run_pytest(self, copy: Path, options: Sequence[str]) -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", "-v", "--tb=no", "--no-header"]
        command += ["-p", "no:cacheprovider", "--hypothesis-seed=0", *options]
        return self._run_limited(command, copy)

    def googletests(self) -> str | None:
        """Run the GoogleTests of the build; return what fails first, or None."""
        for name, path in GOOGLETESTS.items():
            command = [str(self.build / path), "--gtest_fail_fast"]
            status, output = self._run_limited(command, self.build)
            if status == 0:
                continue
            failed = re.search(r"^\[  FAILED  \] ([^ ,]+\.[^ ,]+)", output, re.M)
            started = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
            return f"{name}: {failed[1] if failed else started[-1] if started else 'start'}"
        return None

    def _run_limited(self, command: list[str], folder: Path) -> tuple[int, str]:
        """Run a command that may hang, with all that it starts."""
        environment = {**self.environment, "PYTHONPATH": str(folder / "python")}
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            try:
                status = process.wait(TIME_LIMIT)
            except subprocess.TimeoutExpired:
                status = -signal.SIGKILL
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            output.seek(0)
            return status, output.read()


def fill(copy: Path, tests: Path) -> None:
    """Make a copy of the checkout, with the tests of that folder; leave alone what is the same."""
    files = {file: ROOT / file for file in listed(ROOT) if not file.startswith("tests/")}
    files |= {f"tests/{file}": tests / file for file in listed(tests)}
    for path in [p for p in copy.rglob("*") if p.is_file() and "__pycache__" not in p.parts]:
        if path.relative_to(copy).as_posix() not in files:
            path.unlink()
    for file, source in files.items():
        path, content = copy / file, source.read_bytes()
        if path.exists() and path.read_bytes() == content:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(source.stat().st_mode)


def listed(folder: Path) -> list[str]:
    """Return the files of a folder that git has, or would take."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    return [name for name in names.split("\0") if name and (folder / name).is_file()]


def mirror(source: Path, destination: Path) -> None:
    """Make a folder the same as another, with all times; copy only what differs."""
    kept = {path.relative_to(source): path.stat() for path in source.rglob("*") if path.is_file()}
    for path in [p for p in destination.rglob("*") if p.is_file()]:
        if path.relative_to(destination) not in kept:
            path.unlink()
    for name, status in kept.items():
        path = destination / name
        if path.is_file():
            there = path.stat()
            if (there.st_mtime_ns, there.st_size) == (status.st_mtime_ns, status.st_size):
                continue
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source / name, path)
