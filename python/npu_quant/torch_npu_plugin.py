"""pytest with npu_quant's torch_npu: ``pytest -p npu_quant.torch_npu_plugin``.

It acts before conftest.py files, which may import torch_npu, and register operators of their own.
``--npu-simulate Ascend910B1``, or ``npu_simulate = Ascend910B1`` in pytest's settings, makes a
device, too.
"""

from __future__ import annotations

import pytest

from .errors import ParamError
from .torch_npu import install, simulate

_NAME = "npu_simulate"
_has_acted = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the setting."""
    text = 'make a device "npu" that is the CPU, of this chip, such as Ascend910B1'
    parser.addoption("--npu-simulate", metavar="SOC", help=text)
    parser.addini(_NAME, text, default="")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Install before the first conftest.py."""
    _act(early_config, early_config.known_args_namespace.npu_simulate)


def pytest_configure(config: pytest.Config) -> None:
    """Install where a conftest.py named the plugin, which is too late for the hook above."""
    _act(config, config.getoption(_NAME))


def _act(config: pytest.Config, soc: str | None) -> None:
    if config.stash.get(_has_acted, False):
        return  # what a conftest.py has put in its place since is its own affair
    config.stash[_has_acted] = True
    soc = soc or config.getini(_NAME)
    try:
        simulate(soc) if soc else install()
    except (ImportError, ParamError) as error:
        raise pytest.UsageError(str(error)) from None
