"""``torch.npu.amp``: the CPU's, to float16 where no dtype is named."""

from __future__ import annotations

from typing import Any

import torch


class autocast(torch.autocast):
    """torch.autocast of the NPU."""

    def __init__(
        self, enabled: bool = True, dtype: Any = torch.float16, cache_enabled: bool = True
    ) -> None:
        super().__init__("npu", dtype, enabled, cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler of the NPU."""

    def __init__(self, *args: Any, dynamic: bool = True, **kwargs: Any) -> None:
        super().__init__("npu", *args, **kwargs)
