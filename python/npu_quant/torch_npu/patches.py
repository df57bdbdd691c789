"""What ``simulate`` changes in torch: methods that torch_npu adds, and what asks no mode.

Each function takes what torch has and returns what takes its place, for the rest of the process.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from .device import CPU, NPU, alias, aliased

# What torch asks of the accelerator that it takes the NPU for, but gets from C++ alone.
_OF_ACCELERATOR = (
    *("synchronize", "set_stream", "empty_cache", "get_device_capability"),
    *("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"),
    *("memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats"),
)
_OF_AUTOCAST = (
    *("is_autocast_enabled", "set_autocast_enabled"),
    *("get_autocast_dtype", "set_autocast_dtype"),
)
_kept: list[Any] = []  # what torch refers to


def apply() -> None:
    """Change all of it, once."""
    _register_hooks()
    torch.serialization.register_package(0, lambda obj: None, _restored)
    torch.Tensor.npu = torch.nn.Module.npu = _npu
    torch.Tensor.is_npu = property(lambda self: self.is_cpu)
    torch.Tensor.record_stream = lambda self, stream: None
    torch.UntypedStorage.__new__ = _with_device(torch.UntypedStorage.__new__)
    torch.set_default_device = _of_default(torch.set_default_device)
    _replace_generator()
    torch.autocast.__init__ = _of_cpu(torch.autocast.__init__)
    for name in _OF_AUTOCAST:
        setattr(torch, name, _of_type(getattr(torch, name)))
    torch.amp.autocast_mode._cast = _of_type(torch.amp.autocast_mode._cast)
    for name in _OF_ACCELERATOR:
        if hasattr(torch.accelerator, name):
            setattr(torch.accelerator, name, getattr(torch.npu, name))
    torch.accelerator.get_memory_info = torch.npu.mem_get_info
    run_backward = _with_alias(torch.autograd.graph._engine_run_backward)
    torch.autograd._engine_run_backward = run_backward
    torch.autograd.graph._engine_run_backward = run_backward
    torch.library.Library.impl = _of_both(torch.library.Library.impl)
    start: Any = _in_new_threads(threading.Thread.start)
    threading.Thread.start = start  # type: ignore[method-assign]
    for name in ("start_new_thread", "start_new"):
        setattr(_thread, name, _of_functions(getattr(_thread, name)))


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


def _restored(storage: Any, location: str) -> Any:
    """Return what torch.load was told to put on the NPU."""
    return storage if aliased(location) is CPU else None


def _npu(self: Any, device: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return itself: what is on the CPU is on the simulated NPU, too."""
    if device is not None and aliased(device) is not CPU:
        raise RuntimeError(f"npu(): device is {device!r}, expected npu or npu:0.")
    return self.to(CPU)


def _with_device(new: Callable[..., Any]) -> Callable[..., Any]:

    def on_cpu(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return new(cls, *args, **{name: aliased(value) for name, value in kwargs.items()})

    return on_cpu


def _of_default(set_default_device: Callable[[Any], None]) -> Callable[[Any], None]:
    """Make the default device the CPU: torch puts it below all modes."""
    return wraps(set_default_device)(lambda device: set_default_device(aliased(device)))


def _replace_generator() -> None:
    """Have torch.Generator take "npu": a class in its place, and what it makes are its own."""
    made = torch.Generator

    class OfGenerators(type):
        def __call__(cls, device: Any = "cpu") -> Any:
            return made(aliased(device))

        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, made)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, made)

        def __eq__(cls, other: object) -> bool:  # to those who look a type up
            return cls is other or other is made

        def __hash__(cls) -> int:
            return hash(made)

    class Generator(metaclass=OfGenerators):
        __doc__ = made.__doc__

    torch.Generator = Generator


def _is_npu(device_type: Any) -> bool:
    return isinstance(device_type, str) and device_type.partition(":")[0] == NPU


def _of_cpu(init: Callable[..., None]) -> Callable[..., None]:
    """Make autocast of the NPU the CPU's, to float16 where no dtype is named, as on an NPU."""

    @wraps(init)  # torch.compile asks for the signature
    def of_cpu(self: Any, device_type: str, dtype: Any = None, *args: Any, **kwargs: Any) -> None:
        if _is_npu(device_type):
            device_type, dtype = "cpu", dtype or torch.float16
        init(self, device_type, dtype, *args, **kwargs)

    return of_cpu


def _of_type(function: Callable[..., Any]) -> Callable[..., Any]:

    def asked(*args: Any) -> Any:
        return function(*("cpu" if _is_npu(value) else value for value in args))

    return asked


def _with_alias(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have a function know the device, though torch took the mode away."""

    @wraps(function)
    def knowing(*args: Any, **kwargs: Any) -> Any:
        with alias:
            return function(*args, **kwargs)

    return knowing


def _of_both(impl: Callable[..., None]) -> Callable[..., None]:
    """Register a kernel with the device in it; one for the NPU is one for the CPU, too."""

    @wraps(impl)
    def registered(
        self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any
    ) -> None:
        key = dispatch_key or self.dispatch_key
        module = getattr(fn, "__module__", "torch.")
        is_torch_s = module.startswith("torch.") and not module.startswith("torch._library.")
        if is_torch_s or key == "Meta":
            return impl(self, op_name, fn, dispatch_key, **options)  # torch's own know no NPU
        if key not in ("PrivateUse1", "NPU"):
            return impl(self, op_name, _with_alias(fn), dispatch_key, **options)
        name = op_name if isinstance(op_name, str) else op_name._schema.name
        full = f"{self.ns}::{name.split('::')[-1]}"
        has = torch._C._dispatch_has_kernel_for_dispatch_key(full, "CPU")
        if has or self.ns == "aten":
            return None
        return impl(self, op_name, _with_alias(fn), "CPU", **options)

    return registered


def _in_new_threads(start: Callable[[threading.Thread], None]) -> Callable[..., None]:
    """Take the alias into every new thread: a mode of torch's holds for its own thread alone."""

    def started(self: threading.Thread) -> None:
        run = self.run

        def run_with_alias() -> None:
            del self.run  # which is a cycle
            with alias:
                run()

        self.run = run_with_alias  # type: ignore[method-assign]
        start(self)

    return started


def _of_functions(start: Callable[..., int]) -> Callable[..., int]:
    """The same of threads that ``_thread`` starts, which are no objects."""

    @wraps(start)
    def started(function: Callable[..., Any], *args: Any) -> int:
        return start(_with_alias(function) if callable(function) else function, *args)

    return started
