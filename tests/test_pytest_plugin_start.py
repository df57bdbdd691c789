"""The pytest plugin at pytest's start: beside others, and where npu_quant cannot be imported."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable

import pytest
from plugin_sessions import Session, text_of

pytest_plugins = ["pytester", "plugin_sessions"]

OPTIONS = [f"--npu-golden-{name}" for name in ("dir", "keep", "update", "summary")]
# Its last line imports all of it, in every session.
WITHOUT_HYPOTHESIS = ["-p", "no:hypothesispytest"]
NOT_BY_ITSELF = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
Load = Callable[..., pytest.RunResult]


def test_options_give_way_to_shorter_ones(session: Session, pytester: pytest.Pytester) -> None:
    """Another plugin's --golden-update, its fixture and its marker are its own."""
    pytester.makeconftest(
        """
        import pytest

        def pytest_addoption(parser):
            parser.addoption("--golden-update", action="store_true", help="taken by another")

        @pytest.fixture
        def golden():
            return "theirs"
        """
    )
    source = "def test_it(golden, npu_golden): npu_golden(Y, Y + 0); assert golden == 'theirs'"
    session(source, "--golden-update", passed=1)
    text = text_of(session("", "--help"))
    assert all(f"  {option}" in text for option in [*OPTIONS, "--golden-update"])


@pytest.fixture
def load(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Return what runs pytest, which loads what it finds installed unless it is told not to."""
    pytester.syspathinsert()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name in [name for name in os.environ if name.startswith("PYTEST")]:
        monkeypatch.delenv(name)

    def run(*options: str, anew: bool = False, **environment: str) -> pytest.RunResult:
        """Run it here, where npu_quant is imported already, or in a process of its own."""
        words = ["-q", "-p", "no:cacheprovider", *WITHOUT_HYPOTHESIS, *options]
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            if not anew:
                return pytester.runpytest_inprocess(*words)
            command = [sys.executable, "-m", "pytest", *words]
            done = subprocess.run(command, cwd=pytester.path, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        return pytest.RunResult(done.returncode, lines, done.stderr.splitlines(), 0)

    return run


class TestLoading:
    """By its entry point, by name, or both."""

    ONE_COMPARES = """
        def test_good(): assert [1] == [1]
        def test_bad(): assert [1] == [2]
        def test_that(npu_golden): pass
    """

    def test_pytest_finds_it_by_itself(self) -> None:
        found = importlib.metadata.entry_points(group="pytest11")
        assert {e.name: e.value for e in found}.get("npu_quant") == "npu_quant_pytest"

    @pytest.mark.parametrize("autoload", [True, False])
    @pytest.mark.parametrize("named", [[], ["-p", "npu_quant"]])
    def test_in_every_way(
        self, load: Load, pytester: pytest.Pytester, named: list[str], autoload: bool
    ) -> None:
        pytester.makepyfile(
            "import numpy as np\n"
            "def test_it(npu_golden): npu_golden(np.arange(3), np.arange(3))\n"
            "def test_other(npu_golden): npu_golden(np.arange(3), np.arange(3))\n"
        )
        if not named and not autoload:
            pytest.skip("is not loaded")
        result = load(*named, anew=True, **{} if autoload else NOT_BY_ITSELF)
        result.assert_outcomes(passed=2)
        assert result.outlines.count("golden: 2 comparisons: 2 identical") == 1

    def test_from_a_conftest(self, load: Load, pytester: pytest.Pytester) -> None:
        pytester.makeconftest("pytest_plugins = ['npu_quant_pytest']")
        pytester.makepyfile("def test_it(npu_golden): npu_golden([1, 2], [1, 2])")
        result = load("--npu-golden-summary", "--npu-golden-dir", "x", **NOT_BY_ITSELF)
        result.assert_outcomes(passed=1)
        assert "golden" in text_of(result)

    @pytest.mark.parametrize("given", [[], ["--npu-golden-keep", "other"]])
    def test_options_in_an_ini_file(
        self, load: Load, pytester: pytest.Pytester, given: list[str]
    ) -> None:
        pytester.makeini("[pytest]\nnpu_golden_keep = kept\nnpu_golden_summary = true\n")
        pytester.makepyfile(
            "def test_it(npu_golden): npu_golden([1, 2], [1, 2])\n"
            "def test_not(npu_golden): npu_golden([1, 2], [1, 3])\n"
        )
        result = load(*given)
        result.assert_outcomes(passed=1, failed=1)
        assert (pytester.path / ("other" if given else "kept")).is_dir()
        assert any("test_it" in line and "identical" in line for line in result.outlines)

    def test_it_can_be_left_out(self, load: Load, pytester: pytest.Pytester) -> None:
        pytester.makepyfile("def test_it(npu_golden): pass")
        result = load("-p", "no:npu_quant")
        result.assert_outcomes(errors=1)
        assert "fixture 'npu_golden' not found" in text_of(result)

    @pytest.mark.parametrize("name", ["NPU_QUANT_TARGET", "NPU_QUANT_NUMERICS"])
    def test_a_bad_environment_is_the_affair_of_tests_that_compare(
        self, load: Load, pytester: pytest.Pytester, name: str
    ) -> None:
        pytester.makepyfile(self.ONE_COMPARES)
        result = load(anew=True, **{name: "nonsense"})
        result.assert_outcomes(passed=1, failed=1, errors=1)
        assert "nonsense" in text_of(result)

    def test_so_is_a_broken_install(self, load: Load, pytester: pytest.Pytester) -> None:
        broken = pytester.mkpydir("npu_quant")
        (broken / "__init__.py").write_text("raise ImportError('broken')")
        pytester.makepyfile(self.ONE_COMPARES)
        result = load(anew=True, PYTHONPATH=str(pytester.path))
        result.assert_outcomes(passed=1, failed=1, errors=1)
        assert "ImportError: broken" in text_of(result)


class TestCost:
    """A session of another project's tests waits for nothing of ours."""

    def modules(self, code: str) -> set[str]:
        run = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
        return set(subprocess.run(run, capture_output=True, text=True, check=True).stdout.split())

    def test_the_plugin_imports_nothing_of_the_package(self) -> None:
        names = {name.partition(".")[0] for name in self.modules("import npu_quant_pytest")}
        assert "npu_quant_pytest" in names
        assert names & {"npu_quant", "numpy", "ml_dtypes", "rich", "torch", "matplotlib"} == set()

    @pytest.mark.parametrize("uses", [True, False])
    def test_comparing_is_imported_when_a_test_compares(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, uses: bool
    ) -> None:
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        pytester.makepyfile(
            f"""
            import sys

            def test_it({"npu_golden" if uses else ""}):
                assert ("npu_quant.golden.api" in sys.modules) == {uses}
                assert ("numpy" in sys.modules) == {uses}
                assert "rich" not in sys.modules
            """
        )
        result = pytester.runpytest_subprocess("-p", "npu_quant_pytest")
        result.assert_outcomes(passed=1)
