"""What a torch file's pickle says, read without unpickling it.

A pickle is a program for a small stack machine, and unpickling looks up and calls whatever it
names. The machine here knows the few operations that plain containers and tensors need, looks
nothing up, calls nothing, and makes of the names in `ALLOWED` inert descriptions; any other name
is refused. Each operation takes memory in proportion to its own bytes, so a pickle cannot make
much out of little.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .._text import clean

STORAGES = {
    "torch.FloatStorage": "float32",
    "torch.DoubleStorage": "float64",
    "torch.HalfStorage": "float16",
    "torch.BFloat16Storage": "bfloat16",
    "torch.CharStorage": "int8",
    "torch.ByteStorage": "uint8",
    "torch.ShortStorage": "int16",
    "torch.IntStorage": "int32",
    "torch.LongStorage": "int64",
    "torch.BoolStorage": "bool",
    "torch.storage.UntypedStorage": "",
    "torch.storage.TypedStorage": "",
}
"""Names of storages, with the dtype they have; bytes or unknown: none."""

_FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn_x2")
_INTEGERS = tuple(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64))
DTYPES = {
    f"torch.{name}": name
    for name in ("float16", "bfloat16", "float32", "float64", "bool", *_INTEGERS, *_FLOAT8)
}


@dataclass(frozen=True)
class Storage:
    """Bytes of the archive: the storage `key`, of `count` elements of `dtype`, or bytes."""

    dtype: str
    key: str
    count: int


@dataclass(frozen=True)
class StorageView:
    """A tensor: a window on a storage; offset and strides in elements of `dtype`."""

    storage: Storage
    dtype: str
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]


@dataclass(frozen=True)
class _Name:
    """A name that stands in the pickle, and is no more than a name."""

    text: str


class RefusedError(Exception):
    """A pickle is malformed, or asks for what is refused."""


def _view(args: tuple[Any, ...], dtype: object) -> StorageView:
    """Return a tensor of a storage, an offset, a size and strides, the first of `args`."""
    storage, offset, size, stride = args[:4]
    if not isinstance(storage, Storage) or not isinstance(dtype, str) or not dtype:
        raise RefusedError("its pickle has a tensor without a storage or dtype")
    if not _counts((offset,)) or not _counts(size) or not _counts(stride):
        raise RefusedError("its pickle has a tensor of a malformed shape")
    if len(size) != len(stride):
        raise RefusedError("its pickle has a tensor of a malformed shape")
    return StorageView(storage, dtype, offset, size, stride)


def _counts(numbers: object) -> bool:
    return isinstance(numbers, tuple) and all(type(n) is int and 0 <= n < 1 << 63 for n in numbers)


def _check_metadata(args: tuple[Any, ...]) -> None:
    """Refuse what a tensor is yet to undergo; torch_npu's format on the NPU does not matter."""
    metadata = args[0] if args else None
    if not isinstance(metadata, (dict, type(None))):
        raise RefusedError("its pickle has a tensor with malformed metadata")
    if metadata and (metadata.get("neg") or metadata.get("conj")):
        raise RefusedError("it has a tensor that is yet to be negated: torch.save x.resolve_neg()")


def _rebuild_v2(args: tuple[Any, ...]) -> object:
    """torch: storage, offset, size, stride, requires_grad, hooks, optional metadata."""
    _check_metadata(args[6:])
    return _view(args, getattr(args[0], "dtype", None))


def _rebuild_v3(args: tuple[Any, ...]) -> object:
    """torch: as before, with the dtype ahead of the metadata."""
    _check_metadata(args[7:])
    return _view(args, DTYPES.get(args[6].text) if isinstance(args[6], _Name) else None)


def _rebuild_npu(args: tuple[Any, ...]) -> object:
    """torch_npu: as version 2, with the format it had on the NPU last; the storage is plain."""
    return _view(args, getattr(args[0], "dtype", None))


def _rebuild_parameter(args: tuple[Any, ...]) -> object:
    """torch: the tensor, requires_grad, hooks."""
    if not isinstance(args[0], StorageView):
        raise RefusedError("its pickle has a parameter that is no tensor")
    return args[0]


_CALLS: dict[str, tuple[tuple[int, ...], Callable[[tuple[Any, ...]], object]]] = {
    "torch._utils._rebuild_tensor_v2": ((6, 7), _rebuild_v2),
    "torch._utils._rebuild_tensor_v3": ((7, 8), _rebuild_v3),
    "torch._utils._rebuild_parameter": ((3,), _rebuild_parameter),
    "torch_npu.utils.storage._rebuild_npu_tensor": ((7,), _rebuild_npu),
    "collections.OrderedDict": ((0,), lambda args: {}),
}
"""What may be called: the counts of arguments, and what describes the result."""

ALLOWED = frozenset(_CALLS) | frozenset(STORAGES) | frozenset(DTYPES)
"""The names a pickle may have; whoever adds one adds what is made of it."""

WAY_OUT = "; save tensors only, as torch.save({'x': x}, path)"
"""What to do about torch.Size, torch.device, NumPy's scalars, sets, whole modules and the like."""


def describe(data: bytes, limit: int) -> tuple[Any, int]:
    """Return what a pickle describes, and how many operations it took.

    Raises:
        RefusedError: it is malformed, of more than `limit` operations, or asks for what is refused.
    """
    machine = _Machine(data, limit)
    return machine.run(), machine.operations


class _Machine:
    """Runs one pickle, for at most `limit` operations."""

    def __init__(self, data: bytes, limit: int) -> None:
        self.operations = 0
        self._data, self._at, self._limit = data, 0, limit
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def run(self) -> Any:
        if self._data[:1] != b"\x80":
            raise RefusedError("its pickle is malformed, or of a protocol before 2")
        data, end = self._data, len(self._data)
        while self._at < end:
            code = data[self._at]
            self._at += 1
            self.operations += 1
            if self.operations > self._limit:
                raise RefusedError(f"its pickle has more than {self._limit} operations")
            if code == _STOP:
                return self._pop()
            operation = _OPERATIONS.get(code)
            if operation is None:
                what = f"operation {bytes([code])!r}"
                raise RefusedError(f"refused: its pickle has {what}{WAY_OUT}")
            operation(self)
        raise RefusedError("its pickle is cut short")

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise RefusedError("its pickle is cut short")
        piece = self._data[self._at : end]
        self._at = end
        return piece

    def _number(self, size: int, signed: bool = False) -> int:
        return int.from_bytes(self._take(size), "little", signed=signed)

    def _floor(self) -> int:
        return self._marks[-1] if self._marks else 0

    def _pop(self) -> Any:
        if len(self._stack) <= self._floor():
            raise RefusedError("its pickle is malformed: too little on its stack")
        return self._stack.pop()

    def _pop_to_mark(self) -> list[Any]:
        if not self._marks:
            raise RefusedError("its pickle is malformed: a mark is missing")
        at = self._marks.pop()
        items = self._stack[at:]
        del self._stack[at:]
        return items

    def _top(self, kind: type) -> Any:
        """Return the container on top of the stack, which is to be filled."""
        if len(self._stack) <= self._floor() or not isinstance(self._stack[-1], kind):
            raise RefusedError(f"its pickle is malformed: it fills no {kind.__name__}")
        return self._stack[-1]

    def protocol(self) -> None:
        if not 2 <= (number := self._number(1)) <= 5:
            raise RefusedError(f"its pickle is of protocol {number}; 2 to 5 are known")

    def frame(self) -> None:
        self._take(8)  # its length

    def drop(self) -> None:
        self._pop()

    def mark(self) -> None:
        self._marks.append(len(self._stack))

    def push(self, value: object) -> None:
        self._stack.append(value)

    def read_int(self, size: int, signed: bool = False) -> None:
        self._stack.append(self._number(size, signed))

    def read_text(self, size: int) -> None:
        self._stack.append(str(self._take(self._number(size)), "utf-8", "replace"))

    def read_bytes(self, size: int) -> None:
        self._stack.append(self._take(self._number(size)))

    def take_tuple(self, size: int) -> None:
        at = len(self._stack) - size
        if at < self._floor():
            raise RefusedError("its pickle is malformed: too little on its stack")
        self._stack[at:] = [tuple(self._stack[at:])]

    def read_long(self) -> None:
        self._stack.append(self._number(self._number(1), True))

    def read_float(self) -> None:
        self._stack.append(struct.unpack(">d", self._take(8))[0])

    def new_dict(self) -> None:
        self._stack.append({})

    def new_list(self) -> None:
        self._stack.append([])

    def make_tuple(self) -> None:
        self._stack.append(tuple(self._pop_to_mark()))

    def append(self) -> None:
        item = self._pop()
        self._top(list).append(item)

    def appends(self) -> None:
        items = self._pop_to_mark()
        self._top(list).extend(items)

    def set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._set([key, value])

    def set_items(self) -> None:
        self._set(self._pop_to_mark())

    def _set(self, items: list[Any]) -> None:
        target = self._top(dict)
        for key in items[::2]:
            # Hashing what nests deeply, such as a tuple, would overflow the C stack.
            if not isinstance(key, (str, int, float, bytes, type(None))):
                raise RefusedError(f"its pickle has a key of type {type(key).__name__} in a dict")
        target.update(zip(items[::2], items[1::2], strict=True))

    def put(self, size: int) -> None:
        value = self._pop()
        self._stack.append(value)
        self._memo[len(self._memo) if size == 0 else self._number(size)] = value

    def get(self, size: int) -> None:
        number = self._number(size)
        if number not in self._memo:
            raise RefusedError("its pickle is malformed: it recalls what it never had")
        self._stack.append(self._memo[number])

    def read_name(self) -> None:
        lines = []
        for _ in range(2):
            end = self._data.find(b"\n", self._at, self._at + 1000)
            lines.append(str(self._take(end - self._at if end >= 0 else 1000), "utf-8", "replace"))
            self._take(1)
        self._name(*lines)

    def name_on_stack(self) -> None:
        name, module = self._pop(), self._pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise RefusedError("its pickle is malformed: a name is no text")
        self._name(module, name)

    def _name(self, module: str, name: str) -> None:
        if f"{module}.{name}" not in ALLOWED:
            asked = clean(f"{module}.{name}", 80)
            raise RefusedError(f"refused: the file asks for {asked}{WAY_OUT}")
        self._stack.append(_Name(f"{module}.{name}"))

    def call(self) -> None:
        args, target = self._pop(), self._pop()
        text = target.text if isinstance(target, _Name) else ""
        counts, made = _CALLS.get(text, ((), None))
        if made is None or not isinstance(args, tuple) or len(args) not in counts:
            what = text or f"what is a {type(target).__name__}"
            raise RefusedError(f"refused: its pickle calls {what} in an unusual way{WAY_OUT}")
        self._stack.append(made(args))

    def build(self) -> None:
        self._pop()  # attributes, such as a state_dict's _metadata
        self._top(dict)

    def refer(self) -> None:
        given = self._pop()
        if not isinstance(given, tuple) or len(given) != 5 or given[0] != "storage":
            raise RefusedError("its pickle refers to something that is no storage")
        _, kind, key, _, count = given
        dtype = STORAGES.get(kind.text) if isinstance(kind, _Name) else None
        if dtype is None or not isinstance(key, str) or type(count) is not int or count < 0:
            raise RefusedError("its pickle has a malformed storage")
        self._stack.append(Storage(dtype, key, count))


_STOP = b"."[0]
_PLAIN: dict[bytes, Callable[[_Machine], None]] = {
    b"\x80": _Machine.protocol,
    b"\x95": _Machine.frame,
    b"0": _Machine.drop,
    b"(": _Machine.mark,
    b"t": _Machine.make_tuple,
    b"}": _Machine.new_dict,
    b"]": _Machine.new_list,
    b"a": _Machine.append,
    b"e": _Machine.appends,
    b"s": _Machine.set_item,
    b"u": _Machine.set_items,
    b"\x8a": _Machine.read_long,
    b"G": _Machine.read_float,
    b"c": _Machine.read_name,
    b"\x93": _Machine.name_on_stack,
    b"R": _Machine.call,
    b"b": _Machine.build,
    b"Q": _Machine.refer,
}
_SIZED: dict[bytes, tuple[Callable[..., None], Any]] = {
    b"N": (_Machine.push, None),
    b"\x88": (_Machine.push, True),
    b"\x89": (_Machine.push, False),
    b")": (_Machine.push, ()),
    b"K": (_Machine.read_int, 1),
    b"M": (_Machine.read_int, 2),
    b"X": (_Machine.read_text, 4),
    b"\x8c": (_Machine.read_text, 1),
    b"\x8d": (_Machine.read_text, 8),
    b"B": (_Machine.read_bytes, 4),
    b"C": (_Machine.read_bytes, 1),
    b"\x8e": (_Machine.read_bytes, 8),
    b"\x85": (_Machine.take_tuple, 1),
    b"\x86": (_Machine.take_tuple, 2),
    b"\x87": (_Machine.take_tuple, 3),
    b"q": (_Machine.put, 1),
    b"r": (_Machine.put, 4),
    b"\x94": (_Machine.put, 0),
    b"h": (_Machine.get, 1),
    b"j": (_Machine.get, 4),
}


def _bound(method: Callable[..., None], size: Any) -> Callable[[_Machine], None]:
    return lambda machine: method(machine, size)


_OPERATIONS = {code[0]: method for code, method in _PLAIN.items()}
_OPERATIONS |= {code[0]: _bound(method, size) for code, (method, size) in _SIZED.items()}
_OPERATIONS[b"J"[0]] = lambda machine: machine.read_int(4, True)
