"""``torch_npu.testing.testcase``: a TestCase with the comparisons that Ascend's tests use."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import torch

run_tests = unittest.main


class TestCase(unittest.TestCase):
    """unittest's, which knows tensors."""

    def assertEqual(self, first: Any, second: Any, msg: Any = None, **tolerance: Any) -> None:
        """Fail unless tensors agree within torch's tolerances, and other objects are equal."""
        if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
            torch.testing.assert_close(first, second, equal_nan=True, msg=msg, **tolerance)
        else:
            super().assertEqual(first, second, msg)

    def assertRtolEqual(
        self,
        x: Any,
        y: Any,
        prec: float = 1e-4,
        prec16: float = 1e-3,
        auto_trans_dtype: bool = False,
        message: str | None = None,
    ) -> None:
        """Fail unless shapes, dtypes and NaN agree, and almost all elements.

        ``prec``, of float16 ``prec16``, is the difference that an element may have, of the greater
        magnitude or as it is, and the share of elements that may have more in both.
        """
        ours, theirs = (np.asarray(getattr(a, "numpy", lambda a=a: a)()) for a in (x, y))
        if auto_trans_dtype:
            theirs = theirs.astype(ours.dtype)
        self.assertEqual((ours.shape, ours.dtype), (theirs.shape, theirs.dtype), message)
        most = prec16 if ours.dtype == np.float16 else prec
        ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
        np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs), message or "")
        with np.errstate(invalid="ignore"):
            difference = np.where(ours == theirs, 0, np.abs(ours - theirs))
        greater = np.maximum(np.abs(ours), np.abs(theirs))
        beyond = [np.sum(difference > most), np.sum(difference > most * greater)]
        if min(beyond) > most * ours.size:
            self.fail(
                message or f"{min(beyond)} of {ours.size} elements differ by more than {most}"
            )
