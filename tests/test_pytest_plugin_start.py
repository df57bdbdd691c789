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

STORES = "def test_it(golden): golden.stored(Y)"
OPTIONS = ("--golden-dir", "--golden-keep", "--golden-update", "--golden-summary")
TAKES = """
def pytest_addoption(parser):
    parser.addoption({!r}, {}action="store_true", help="taken by another")
"""
PLUGINS = ["npu_quant.pytest_plugin", "npu_quant_pytest"]
# Its last line imports all of it, in every session.
WITHOUT_HYPOTHESIS = ["-p", "no:hypothesispytest"]
NOT_BY_ITSELF = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
Load = Callable[..., pytest.RunResult]


class TestOptions:
    @pytest.mark.parametrize("dest", ["", "dest='golden_dir', ", "dest='npu_golden_dir', "])
    @pytest.mark.parametrize("option", OPTIONS)
    def test_a_conftest_that_has_one_keeps_it(
        self, session: Session, pytester: pytest.Pytester, option: str, dest: str
    ) -> None:
        pytester.makeconftest(TAKES.format(option, dest))
        session("def test_it(golden): golden(Y, Y + 0)", passed=1)
        text = text_of(session("", "--help"))
        assert f"  {option} " in text
        assert "taken by another" in text
        assert f"--npu{option[1:]}" in text
        others = [o for o in OPTIONS if o != option]
        assert all(f"  {o}" in text for o in others)
        assert not any(f"--npu{o[1:]}" in text for o in others)

    @pytest.mark.parametrize("first", [True, False])
    def test_so_does_a_plugin(
        self, session: Session, pytester: pytest.Pytester, first: bool
    ) -> None:
        pytester.makepyfile(other=TAKES.format("--golden-dir", ""))
        pytester.syspathinsert()
        plugins = ["-p", "other", *(() if first else ("-p", "npu_quant.pytest_plugin"))]
        text = text_of(session("", *plugins, "--help"))
        assert "--npu-golden-dir=DIR" in text

    def test_the_commands_name_the_option_there_is(
        self, session: Session, pytester: pytest.Pytester
    ) -> None:
        pytester.makeconftest(
            "def pytest_addoption(parser):\n"
            "    parser.addoption('--golden-dir')\n    parser.addoption('--golden-update')\n"
        )
        result = session(STORES, "--npu-golden-dir=there")
        line = next(x for x in result.outlines if "store it: " in x)
        words = line.partition("store it: pytest ")[2].split()
        assert words == ["--npu-golden-update", "--npu-golden-dir", "there", "test_it.py::test_it"]
        session("", *words, passed=1)
        assert (pytester.path / "there/test_it/test_it/y.npz").exists()
        session("", "--npu-golden-dir=there", "--golden-dir=x", passed=1)

    def test_the_summary_too(self, session: Session, pytester: pytest.Pytester) -> None:
        pytester.makeconftest(TAKES.format("--golden-summary", ""))
        source = "@pytest.mark.parametrize('i', range(60))\ndef test_it(golden, i): golden({}, Y)"
        result = session(source.format("WRONG"))
        assert "and 20 more: --npu-golden-summary lists all" in result.outlines

    def test_without_another_they_have_their_names(self, session: Session) -> None:
        text = text_of(session("", "--help"))
        assert all(f"  {option}" in text for option in OPTIONS)
        assert "--npu-golden" not in text

    def test_where_both_names_are_taken_there_is_none(
        self, session: Session, pytester: pytest.Pytester
    ) -> None:
        pytester.makeconftest(
            TAKES.format("--golden-keep", "")
            + "    parser.addoption('--npu-golden-keep', action='store_true')\n"
        )
        session("def test_it(golden): golden(Y, Y + 0)", passed=1)


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
        def test_that(golden): pass
    """

    def test_pytest_finds_it_by_itself(self) -> None:
        found = importlib.metadata.entry_points(group="pytest11")
        assert {e.name: e.value for e in found}.get("npu_quant") == "npu_quant_pytest"

    @pytest.mark.parametrize("autoload", [True, False])
    @pytest.mark.parametrize(
        "plugins", [[], PLUGINS[:1], PLUGINS[1:], PLUGINS[::-1], ["npu_quant"]]
    )
    def test_in_every_way(
        self, load: Load, pytester: pytest.Pytester, plugins: list[str], autoload: bool
    ) -> None:
        pytester.makepyfile(
            "import numpy as np\n"
            "def test_it(golden): golden(np.arange(3), np.arange(3))\n"
            "def test_other(golden): golden(np.arange(3), np.arange(3))\n"
        )
        if not plugins and not autoload:
            pytest.skip("is not loaded")
        named = [word for plugin in plugins for word in ("-p", plugin)]
        by_one_way = autoload == (not plugins)
        result = load(*named, anew=by_one_way, **{} if autoload else NOT_BY_ITSELF)
        result.assert_outcomes(passed=2)
        assert result.outlines.count("golden: 2 comparisons: 2 identical") == 1

    def test_from_a_conftest(self, load: Load, pytester: pytest.Pytester) -> None:
        pytester.makeconftest("pytest_plugins = ['npu_quant.pytest_plugin']")
        pytester.makepyfile("def test_it(golden): golden([1, 2], [1, 2])")
        result = load("--golden-summary", "--golden-dir", "x", **NOT_BY_ITSELF)
        assert "unrecognized" not in "".join(result.errlines)
        assert "golden" in text_of(result)

    @pytest.mark.parametrize("place", ["plugin", "conftest"])
    def test_golden_is_an_alias_that_steps_aside(
        self, load: Load, pytester: pytest.Pytester, place: str
    ) -> None:
        theirs = "import pytest\n@pytest.fixture\ndef golden(): return 'theirs'\n"
        pytester.makepyfile(
            "def test_it(golden): assert golden == 'theirs'\n"
            "def test_other(npu_golden): npu_golden([1, 2], [1, 2])\n"
        )
        if place == "plugin":
            pytester.makepyfile(their_plugin=theirs)
            named = ["-p", "their_plugin"]
        else:
            pytester.makeconftest(theirs)
            named = []
        load(*named).assert_outcomes(passed=2)

    def test_a_module_of_that_name_is_no_fixture(
        self, load: Load, pytester: pytest.Pytester
    ) -> None:
        pytester.makeconftest("from npu_quant import golden")
        pytester.makepyfile("def test_it(golden, npu_golden): assert golden is npu_golden")
        load().assert_outcomes(passed=1)

    @pytest.mark.parametrize("given", [[], ["--golden-keep", "other"]])
    def test_options_in_an_ini_file(
        self, load: Load, pytester: pytest.Pytester, given: list[str]
    ) -> None:
        pytester.makeini("[pytest]\nnpu_golden_keep = kept\nnpu_golden_summary = true\n")
        pytester.makepyfile(
            "def test_it(golden): golden([1, 2], [1, 2])\n"
            "def test_not(golden): golden([1, 2], [1, 3])\n"
        )
        result = load(*given)
        result.assert_outcomes(passed=1, failed=1)
        assert (pytester.path / ("other" if given else "kept")).is_dir()
        assert any("test_it" in line and "identical" in line for line in result.outlines)

    @pytest.mark.parametrize("plugins", [[], PLUGINS[:1]])
    def test_it_can_be_left_out(
        self, load: Load, pytester: pytest.Pytester, plugins: list[str]
    ) -> None:
        pytester.makepyfile("def test_it(golden): pass")
        named = [word for plugin in plugins for word in ("-p", plugin)]
        result = load(*named, "-p", "no:npu_quant")
        result.assert_outcomes(errors=1)
        assert "fixture 'golden' not found" in text_of(result)

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

            def test_it({"golden" if uses else ""}):
                assert ("npu_quant.golden.api" in sys.modules) == {uses}
                assert ("numpy" in sys.modules) == {uses}
                assert "rich" not in sys.modules
            """
        )
        result = pytester.runpytest_subprocess("-p", "npu_quant_pytest")
        result.assert_outcomes(passed=1)
