"""Make a source distribution, and of it a wheel for each CPython that is found here.

The library and the C API are compiled once, and `_core` once for each Python. auditwheel gives a
wheel the tag that this machine's compiler and C library allow. Each is tried in environments that
have nothing else, with NumPy 1.26 where it exists and with the newest. The argument is the folder
for what is made, which takes the place of what was made there before.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSIONS = [f"3.{minor}" for minor in range(10, 15)]
WITH_NUMPY_1 = VERSIONS[:3]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "--python")
DESCRIBE = """\
import os, sys, sysconfig as config
headers = os.path.exists(config.get_path("include") + "/Python.h")
fits = sys.implementation.name == "cpython" and not config.get_config_var("Py_GIL_DISABLED")
print("%d.%d" % sys.version_info[:2] if headers and fits else "unfit", sys.executable, sep="\\n")
"""
# scikit-build-core's own functions: no Python needs pip, and one build folder serves them all.
SDIST = "import sys, scikit_build_core.build as b; print(b.build_sdist(sys.argv[1]))"
WHEEL = """\
import sys, scikit_build_core.build as b
print(b.build_wheel(sys.argv[1], {"build-dir": sys.argv[2]}))
"""
# The codes are by hand: 4 becomes 127, the others in proportion.
TRY = """\
import ml_dtypes, numpy, npu_quant
y = npu_quant.npu_dynamic_quant(numpy.array([[0, 1, -2, 4]], numpy.float16)).y
assert y.tolist() == [[0, 32, -64, 127]] and npu_quant.aclnn_prefix()
print(f"works with NumPy {numpy.__version__} and ml_dtypes {ml_dtypes.__version__}")
"""


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """Run a command and return the last line it prints; where it fails, so does this."""
    environment = os.environ | environment
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=cwd, env=environment)
    return (done.stdout.decode().splitlines() or [""])[-1]


def candidates() -> list[str]:
    """Return what may be a Python: those on PATH, then pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    on_path = [shutil.which(f"python{version}") for version in VERSIONS]
    return [*filter(None, on_path), *map(str, sorted(pyenv.glob("versions/3.*/bin/python3")))]


def pythons(paths: Iterable[str]) -> dict[str, str]:
    """Return the first CPython of each version that runs, has a GIL and has headers."""
    found = {}
    for path in reversed([*paths]):
        done = subprocess.run([path, "-c", DESCRIBE], capture_output=True, text=True, check=False)
        version, *executable = done.stdout.splitlines() or [""]
        if done.returncode == 0 and version in VERSIONS:
            found[version] = executable[0]
    return {version: found[version] for version in VERSIONS if version in found}


def make_wheel(python: str, source: Path, work: Path, dist: Path) -> Path:
    """Compile what of a wheel is not compiled yet; repair it and check what is in it."""
    backend = str(work / "backend")  # in another folder it would begin the build folder anew
    raw = run(python, "-c", WHEEL, work, work / "cmake", cwd=source, PYTHONPATH=backend)
    run("auditwheel", "repair", "--wheel-dir", dist, work / raw)
    (repaired,) = dist.glob(raw.rpartition("-")[0] + "-*.whl")
    run("check-wheel-contents", repaired)
    return repaired


def try_wheel(python: str, wheel: Path, numpy: str, folder: Path) -> str:
    """Install a wheel into an empty environment and return what it says of itself there."""
    run(python, "-m", "venv", "--clear", "--without-pip", folder)
    new = folder / "bin" / "python"
    run(*PIP, new, "install", "--no-compile", "--only-binary=:all:", wheel, numpy)
    run(*PIP, new, "check")
    return f"{run(folder / 'bin' / 'npu-quant', '--version')} {run(new, '-I', '-c', TRY)}"


def main(dist: Path, work: Path) -> None:
    """Make all of them, and print tags, sizes and what they were tried with."""
    found = pythons(candidates())
    if not found:
        sys.exit(f"No CPython from {VERSIONS[0]} to {VERSIONS[-1]} has headers here.")
    print("Pythons:", ", ".join(map(" ".join, found.items())), flush=True)
    dist.mkdir(parents=True, exist_ok=True)
    for old in [*dist.glob("npu_quant-*.whl"), *dist.glob("npu_quant-*.tar.gz")]:
        old.unlink()
    sdist = dist / run(sys.executable, "-c", SDIST, dist)
    with tarfile.open(sdist) as archive:
        archive.extractall(work)
    for python in list(found.values())[:1]:  # the oldest needs most beside scikit-build-core
        wanted = ("scikit-build-core>=0.10", "pybind11>=3")
        run(*PIP, python, "install", "--target", work / "backend", *wanted)
    for version, python in found.items():
        wheel = make_wheel(python, work / sdist.name.removesuffix(".tar.gz"), work, dist)
        for numpy in ["numpy==1.26.*"] * (version in WITH_NUMPY_1) + ["numpy"]:
            print(version, try_wheel(python, wheel, numpy, work / "tried"), flush=True)
    for made in sorted(dist.iterdir()):
        print(f"{made.stat().st_size / 1e6:.2f} MB {made.name}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="npu_quant-wheels-") as work:
        main(Path(sys.argv[1]).resolve(), Path(work))
