"""The device "npu" as an alias of the CPU: whatever asks for the one gets the other.

Tensors say that they are on the CPU, because that is where they are. ``torch.device("npu")`` keeps
its name. Where it goes into torch (factories, ``to``, modules), the CPU is meant.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

NPU = "npu"
_CPU = torch.device("cpu")
_MOVES = (torch.Tensor.to, torch._C._nn._parse_to)  # the device may come first, without its name


def aliased(device: Any) -> Any:
    """Return the CPU for the NPU in any of its ways, and anything else as it is."""
    if isinstance(device, str):
        if device != NPU and not device.startswith("npu:"):
            return device
        device = torch.device(device)
    if not isinstance(device, torch.device) or device.type != NPU:
        return device
    if device.index:
        raise RuntimeError(f"invalid device {device}: the simulated machine has one, npu:0.")
    return _CPU


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
            kwargs = {name: aliased(v) for name, v in kwargs.items() if name != "pin_memory"}
        if func in _MOVES:
            args = [aliased(value) for value in args]
        return func(*args, **kwargs)


_alias = Alias()


def simulate() -> None:
    """Make torch know the device, once in a process: ``torch.npu`` is there already."""
    if torch._C._get_privateuse1_backend_name() != NPU:
        torch.utils.rename_privateuse1_backend(NPU)
        _register_hooks()
        torch.serialization.register_package(0, lambda obj: None, _restored)
        _patch()
        _alias.__enter__()


def _register_hooks() -> None:
    """Tell torch that there is nothing to initialise: torch.compile asks."""
    acc: Any = getattr(torch._C, "_acc", None)
    if not hasattr(acc, "register_python_privateuseone_hook"):
        return
    hooks_class: Any = acc.PrivateUse1Hooks
    guard_class: Any = acc.DeviceGuard

    class Hooks(hooks_class):
        def is_built(self) -> bool:
            return False

        def is_available(self) -> bool:
            return False

        def has_primary_context(self, device_index: int) -> bool:
            return True

    class Guard(guard_class):
        def type_(self) -> Any:
            return torch._C._autograd.DeviceType.PrivateUse1

    _kept.extend([Hooks(), Guard()])
    acc.register_python_privateuseone_hook(_kept[0])
    acc.register_python_privateuseone_device_guard(_kept[1])


# What torch asks of the accelerator that it takes the NPU for, but gets from C++ alone.
_OF_ACCELERATOR = (
    *("synchronize", "set_stream", "empty_cache", "get_device_capability"),
    *("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"),
    *("memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats"),
)
_kept: list[Any] = []  # what torch refers to


def _restored(storage: Any, location: str) -> Any:
    """Return what torch.load was told to put on the NPU."""
    return storage if aliased(location) is _CPU else None


def _npu(self: Any, device: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return itself: what is on the CPU is on the simulated NPU, too."""
    aliased(f"npu:{device}" if isinstance(device, int) else device)
    return self


def _patch() -> None:
    """Add the methods that torch_npu adds, and mend what takes no part in torch functions."""
    torch.Tensor.npu = torch.nn.Module.npu = _npu
    torch.Tensor.is_npu = property(lambda self: self.is_cpu)
    torch.Tensor.record_stream = lambda self, stream: None
    torch.Generator = _Generator
    torch.UntypedStorage.__new__ = _with_device(torch.UntypedStorage.__new__)
    torch.set_default_device = _of_default(torch.set_default_device)
    torch.autocast.__init__ = _of_cpu(torch.autocast.__init__)
    for name in _OF_ACCELERATOR:
        if hasattr(torch.accelerator, name):
            setattr(torch.accelerator, name, getattr(torch.npu, name))
    torch.accelerator.get_memory_info = torch.npu.mem_get_info
    threading.Thread.start = _with_alias(threading.Thread.start)  # type: ignore[assignment, method-assign]


class _OfGenerators(type):
    """Makes torch.Generator one that takes "npu": it is a class, and what it makes are its own."""

    made = torch.Generator

    def __call__(cls, device: Any = "cpu") -> Any:
        return cls.made(aliased(device))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.made)


class _Generator(metaclass=_OfGenerators):
    __doc__ = torch.Generator.__doc__


def _with_device(new: Callable[..., Any]) -> Callable[..., Any]:
    """Make a storage on the CPU."""

    def on_cpu(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return new(cls, *args, **{name: aliased(value) for name, value in kwargs.items()})

    return on_cpu


def _of_default(set_default_device: Callable[[Any], None]) -> Callable[[Any], None]:
    """Make the default device the CPU: torch puts it below all modes."""
    return wraps(set_default_device)(lambda device: set_default_device(aliased(device)))


def _of_cpu(init: Callable[..., None]) -> Callable[..., None]:
    """Make autocast of the NPU the CPU's, to float16 where no dtype is named, as on an NPU."""

    @wraps(init)  # torch.compile asks for the signature
    def of_cpu(self: Any, device_type: str, dtype: Any = None, *args: Any, **kwargs: Any) -> None:
        if device_type == NPU:
            device_type, dtype = "cpu", dtype or torch.float16
        init(self, device_type, dtype, *args, **kwargs)

    return of_cpu


def _with_alias(start: Callable[[threading.Thread], None]) -> Callable[[threading.Thread], None]:
    """Take the alias into every new thread: a mode of torch's holds for its own thread alone."""

    def started(self: threading.Thread) -> None:
        run = self.run

        def run_with_alias() -> None:
            with _alias:
                run()

        self.run = run_with_alias  # type: ignore[method-assign]
        start(self)

    return started
