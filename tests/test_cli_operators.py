"""``npu-quant compare --op`` of every operator: files by name, with and without headers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import CASES
from cases.case import Arguments, Case
from command_line import Say

from npu_quant.golden.operators import model_of, operators, outputs_of

COMPARED = [case for case in CASES if case.operator.__name__ in operators()]


def settings(case: Case) -> list[Any]:
    """Return a small array with each of the options of layouts and of formats."""
    formats = case.formulas.get("formats", [])
    every = [*case.layouts, *(formats if isinstance(formats, list) else [])]
    small = [(shape, options) for shape, options in every if 8 < math.prod(shape) < 1 << 14]
    return [*{str(options): (shape, options) for shape, options in small}.values()]


def words_of(case: Case, arguments: Arguments, outputs: tuple[np.ndarray, ...], raw: bool) -> Any:
    """Return the words that say an operator's outputs and inputs, and write their files."""
    words = []
    for name, value in arguments.items():
        if isinstance(value, np.ndarray):
            np.save(f"in_{name}.npy", value)
            words.append(f"{name}=in_{name}.npy")
            if value.dtype.name.startswith("float8"):  # NumPy saves it as V1
                words += ["--dtype", f"{name}={value.dtype.name}"]
        else:
            is_dtype = isinstance(value, (type, np.dtype))
            text = np.dtype(value).name if is_dtype else value if isinstance(value, str) else None
            words += ["--attr", f"{name}={repr(value) if text is None else text}"]
    for name, array in zip(outputs_of(case.operator), outputs, strict=True):
        path = Path(f"out_{name}.{'bin' if raw else 'npy'}")
        if raw:
            array.tofile(path)
        else:
            np.save(path, array)
        words.append(f"{name}={path}")
    return words


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("case", COMPARED, ids=lambda case: case.name)
@pytest.mark.usefixtures("here")
def test_its_own_outputs_pass(
    case: Case, raw: bool, rng: np.random.Generator, compared: Say
) -> None:
    kind = next(iter(case.kinds.values()))
    for setting in settings(case):
        arguments = case.tried(rng, setting, **kind)[-1]
        words = words_of(case, arguments, case.run(arguments), raw)
        status, out, err = compared("--op", case.operator.__name__, *words, "--allow-constant")
        model = model_of(case.operator, arguments)
        regions = map(model.undefined, range(len(model.outputs)))
        if all(region is not None and not region.count for region in regions):
            assert (status, "there is nothing to compare" in err) == (2, True), words
            continue
        assert (status, err) == (0, ""), (words, err)
        assert out.startswith("OK (identical)"), words


def test_every_operator() -> None:
    assert {case.operator.__name__ for case in COMPARED} == set(operators())
