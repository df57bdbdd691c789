"""The device "npu" as an alias of the CPU: whatever asks for the one gets the other.

Tensors say that they are on the CPU, because that is where they are. ``torch.device("npu")`` keeps
its name. Where it goes into torch (factories, ``to``, modules), the CPU is meant.

A mode of torch's does most of it. torch takes the mode away while it runs a function, so that what
it calls back (backward, kernels that others register) is given the mode anew; ``patches.py`` has
that, and what asks no mode at all.
"""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

NPU = "npu"
CPU = torch.device("cpu")
# Where a device may stand without its name, and at which place.
_MOVES = {torch.Tensor.to: 1, torch._C._nn._parse_to: 0}


def aliased(device: Any) -> Any:
    """Return the CPU for the NPU in any of its ways, and anything else as it is.

    A number is that of an NPU: there is no other device that is counted.
    """
    if isinstance(device, int) and not isinstance(device, bool):
        device = torch.device(NPU, device)
    if isinstance(device, str):
        if device != NPU and not device.startswith("npu:"):
            return device
        device = torch.device(device)
    if not isinstance(device, torch.device) or device.type != NPU:
        return device
    if device.index:
        raise RuntimeError(f"invalid device {device}: the simulated machine has one, npu:0.")
    return CPU


def _in_kwargs(name: str, value: Any) -> Any:
    """Alias what is a device by its name or its type: other words may be "npu", too."""
    return aliased(value) if name == "device" or isinstance(value, torch.device) else value


class Alias(TorchFunctionMode):
    """Takes "npu" for the CPU wherever torch is told a device."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call func with the CPU instead."""
        kwargs = kwargs or {}
        if func is torch.device:
            return func(*args, **kwargs)
        if func is torch.Tensor.pin_memory:
            return args[0]
        if kwargs:
            kwargs = {n: _in_kwargs(n, v) for n, v in kwargs.items() if n != "pin_memory"}
        if func in _MOVES:
            at = _MOVES[func]
            args = [*args[:at], *map(aliased, args[at : at + 1]), *args[at + 1 :]]
        elif any(isinstance(value, torch.device) for value in args):
            args = [aliased(v) if isinstance(v, torch.device) else v for v in args]
        return func(*args, **kwargs)


alias = Alias()


def simulate() -> None:
    """Make torch know the device, once in a process: ``torch.npu`` is there already.

    A thread that other code than Python's started calls it again, for itself.
    """
    is_first = torch._C._get_privateuse1_backend_name() != NPU
    if is_first and threading.current_thread() is not threading.main_thread():
        raise RuntimeError("simulate() has to be called on the main thread: others follow it.")
    if is_first:
        torch.utils.rename_privateuse1_backend(NPU)
        from . import patches

        patches.apply()
    if alias not in torch.overrides._get_current_function_mode_stack():
        _push_below()


def _push_below() -> None:
    """Put the alias below the modes that hold now: who leaves one of these pops the uppermost."""
    above = [
        torch.overrides._pop_mode() for _ in range(torch.overrides._len_torch_function_stack())
    ]
    for mode in [alias, *reversed(above)]:
        torch.overrides._push_mode(mode)
