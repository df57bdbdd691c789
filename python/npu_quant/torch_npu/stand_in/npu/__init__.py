"""``torch.npu``: the one device that ``npu_quant.torch_npu.simulate`` makes, or none.

What it tells of memory is the machine's own, and nothing is ever allocated by it. Work is done when
it is asked for, on the calling thread: streams and events keep no order of their own, and
synchronizing waits for nothing.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import torch

from npu_quant.torch_npu import socs, upstream
from npu_quant.torch_npu.missing import stand_in_for

from . import amp as amp


class DeviceProperties(NamedTuple):
    """What there is to say of the device."""

    name: str
    total_memory: int
    """Bytes, the machine's."""


def is_available() -> bool:
    """Say whether there is a device."""
    return socs.simulated() is not None


def device_count() -> int:
    """Return 1, or 0 where none is simulated."""
    return int(is_available())


is_initialized = is_bf16_supported = is_available


def _is_in_bad_fork() -> bool:
    return False


def _soc() -> socs.Soc:
    soc = socs.simulated()
    if soc is None:
        raise RuntimeError(
            "There is no NPU, and none is simulated. "
            'Call npu_quant.torch_npu.simulate("Ascend910B1") first.'
        )
    return soc


def _index(device: Any = None) -> int:
    """Return 0 for the one device in any of its ways; refuse others."""
    _soc()
    if isinstance(device, (str, int, torch.device)):
        device = torch.device("npu", device) if isinstance(device, int) else torch.device(device)
        if device.type != "npu" or device.index:
            raise RuntimeError(f"invalid device {device}: the simulated machine has one, npu:0.")
    elif device is not None:
        raise TypeError(f"device has type {type(device).__name__}, expected an int or a device.")
    return 0


current_device = _index


def synchronize(device: Any = None) -> None:
    """Accept the one device, and do nothing: what was asked for is done."""
    _index(device)


init = set_device = get_device_capability = synchronize


def get_device_name(device: Any = None) -> str:
    """Return the name that was given to ``simulate``."""
    _index(device)
    return _soc().name


def get_soc_version() -> int:
    """Return torch_npu's number of that name; -1 without a device, as it does."""
    soc = socs.simulated()
    return -1 if soc is None else soc.version


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Return the name and the memory."""
    return DeviceProperties(get_device_name(device), mem_get_info()[1])


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Say no: there is one device."""
    _index(device), _index(peer_device)
    return False


# ---- Memory.


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the bytes that are free, and all: the machine's."""
    _index(device)
    page = os.sysconf("SC_PAGE_SIZE")
    return page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES")


# 0, as the CPU's allocator does not count.
memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = _index
memory_cached = max_memory_cached = _index


def memory_stats(device: Any = None) -> dict[str, int]:
    """Return 0, by any name."""
    _index(device)
    return defaultdict(int)


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Say that nothing is counted."""
    _index(device)
    return "The memory of a simulated NPU is the CPU's, and is not counted."


reset_peak_memory_stats = reset_accumulated_memory_stats = synchronize
reset_max_memory_allocated = reset_max_memory_cached = synchronize


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Do nothing."""
    _index(device)


# ---- Streams and events.


class Stream:
    """A queue that is always empty."""

    npu_stream = stream_id = 0

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: Any) -> None:
        self.device = torch.device("npu", _index(device))
        self.priority = priority
        self._left: list[Stream] = []

    def query(self) -> bool:
        """Say that all is done."""
        return True

    def synchronize(self) -> None:
        """Do nothing."""

    def wait_event(self, event: Any) -> None:
        """Do nothing."""

    wait_stream = wait_event

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, now."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        """Make it the current one."""
        self._left.append(current_stream())
        set_stream(self)
        return self

    def __exit__(self, *error: object) -> None:
        """Make the one before current again."""
        set_stream(self._left.pop())


class Event:
    """A moment: the time when it was recorded."""

    def __init__(self, enable_timing: bool = False, *args: Any, **kwargs: Any) -> None:
        _index()
        self._at: float | None = None

    def record(self, stream: Any = None) -> None:
        """Take the time."""
        self._at = time.perf_counter()

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds to another event, by this machine's clock."""
        if self._at is None or end_event._at is None:
            raise RuntimeError("Both events must be recorded before their time is asked.")
        return (end_event._at - self._at) * 1e3

    def query(self) -> bool:
        """Say that all before it is done."""
        return True

    def synchronize(self) -> None:
        """Do nothing."""

    def wait(self, stream: Any = None) -> None:
        """Do nothing."""


ExternalEvent = Event
_current: list[Stream] = []


def default_stream(device: Any = None) -> Stream:
    """Return the stream that is there from the start."""
    _index(device)
    if not _current:
        _current.extend([Stream()] * 2)  # the default one, and the current one
    return _current[0]


def current_stream(device: Any = None) -> Stream:
    """Return the stream that was set last."""
    default_stream(device)
    return _current[1]


def set_stream(stream: Stream) -> None:
    """Make a stream the current one, for all threads."""
    default_stream()
    _current[1] = stream


def stream(stream: Stream | None) -> AbstractContextManager[Any]:
    """Make a stream the current one within ``with``."""
    return nullcontext() if stream is None else stream


StreamContext = stream


class device:
    """Accept the one device within ``with``."""

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *error: object) -> None:
        """Do nothing."""


class device_of(device):
    """Accept a tensor's device within ``with``."""

    def __init__(self, obj: Any) -> None:
        super().__init__(None)


# ---- Random numbers: the CPU's generator makes them.


def manual_seed(seed: int) -> None:
    """Seed the CPU's generator."""
    torch.default_generator.manual_seed(int(seed))


manual_seed_all = manual_seed


seed = seed_all = torch.default_generator.seed
initial_seed = torch.default_generator.initial_seed


def get_rng_state(device: Any = None) -> Any:
    """Return its state."""
    return torch.default_generator.get_state()


def set_rng_state(new_state: Any, device: Any = None) -> None:
    """Set its state."""
    torch.default_generator.set_state(new_state)


def get_rng_state_all() -> list[Any]:
    """Return its state, of each device."""
    return [get_rng_state()] * device_count()


def set_rng_state_all(new_states: Any) -> None:
    """Set its state, of each device."""
    for state in new_states:
        set_rng_state(state)


# ---- Settings, which have no effect.


def get_amp_supported_dtype() -> list[Any]:
    """Return what autocast may cast to."""
    return [torch.float16, torch.bfloat16]


# Autocast is the CPU's.
is_autocast_enabled = partial(torch.is_autocast_enabled, "cpu")
set_autocast_enabled = partial(torch.set_autocast_enabled, "cpu")
get_autocast_dtype = partial(torch.get_autocast_dtype, "cpu")
set_autocast_dtype = partial(torch.set_autocast_dtype, "cpu")


def _accept(*args: Any, **kwargs: Any) -> None:
    """Accept a setting."""


set_option = set_compile_mode = set_sync_debug_mode = set_aoe = finalize_dump = _accept
init_dump = set_dump = set_mm_bmm_format_nd = enable_deterministic_with_backward = _accept
disable_deterministic_with_backward = set_deterministic_level = empty_cache = _accept


class _Settings:
    """Any setting, by its name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


config, matmul, conv = _Settings(), _Settings(), _Settings()


def __getattr__(name: str) -> Any:
    """Return what says of a name of upstream's that it is not here."""
    if name not in upstream.NPU:
        raise AttributeError(f"module 'torch.npu' has no attribute {name!r}", name=name)
    return stand_in_for(f"torch.npu.{name}")
