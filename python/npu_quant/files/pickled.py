"""What a torch file's pickle says, read without unpickling it.

A pickle is a program for a small stack machine, and unpickling looks up and calls whatever it
names. `pickletools` tells the operations apart; the machine here knows the few of them that plain
containers and tensors need, looks nothing up, calls nothing, and makes of the names in `ALLOWED`
inert descriptions; any other name is refused. Each operation takes memory in proportion to its own
bytes, so a pickle cannot make much out of little.

The names are those that torch.load(weights_only=True) has by itself (torch's
_weights_only_unpickler.py) and torch_npu's. What it makes of them that is no tensor, such as
torch.Size, is described by what it is made of, and a tensor that is no plain array by the reason.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .._text import clean
from .torch_names import DTYPES, STORAGES, UNREAD


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
class Unread:
    """A tensor that is not read, and why."""

    why: str


@dataclass(frozen=True)
class _Name:
    """A name that stands in the pickle, and is no more than a name."""

    text: str

    def __str__(self) -> str:
        return self.text


class RefusedError(Exception):
    """A pickle is malformed, or asks for what is refused."""


def _view(args: tuple[Any, ...], dtype: object) -> StorageView | Unread:
    """A tensor of a storage, an offset, a size and strides, the first of `args`."""
    storage, offset, size, stride = args[:4]
    if not isinstance(storage, Storage) or not isinstance(dtype, str) or not dtype:
        raise RefusedError("its pickle has a tensor without a storage or dtype")
    if not _counts((offset,)) or not _counts(size) or not _counts(stride):
        raise RefusedError("its pickle has a tensor of a malformed shape")
    if len(size) != len(stride):
        raise RefusedError("its pickle has a tensor of a malformed shape")
    if dtype in UNREAD:
        return Unread(f"has a tensor of {dtype}, which is not one of numbers that are compared")
    return StorageView(storage, dtype, offset, size, stride)


def _counts(numbers: object) -> bool:
    return isinstance(numbers, tuple) and all(type(n) is int and 0 <= n < 1 << 63 for n in numbers)


def _unresolved(args: tuple[Any, ...]) -> Unread | None:
    """Why a tensor yet to be negated or conjugated is not read; its format does not matter."""
    metadata = args[0] if args else None
    if not isinstance(metadata, (dict, type(None))):
        raise RefusedError("its pickle has a tensor with malformed metadata")
    for bit, name in ("neg", "negative"), ("conj", "conjugate"):
        if metadata and metadata.get(bit):
            return Unread(f"has a tensor whose {name} bit is set: torch.save x.resolve_{bit}()")
    return None


def _rebuild_v2(args: tuple[Any, ...]) -> object:
    """torch: storage, offset, size, stride, requires_grad, hooks, optional metadata.

    torch_npu: the same, with the format it had on the NPU last; the storage is plain.
    """
    return _unresolved(args[6:]) or _view(args, getattr(args[0], "dtype", None))


def _rebuild_v3(args: tuple[Any, ...]) -> object:
    """torch: as before, with the dtype ahead of the metadata."""
    dtype = DTYPES.get(args[6].text) if isinstance(args[6], _Name) else None
    return _unresolved(args[7:]) or _view(args, dtype)


def _rebuild_parameter(args: tuple[Any, ...]) -> object:
    """torch: the tensor, requires_grad, hooks, with attributes these."""
    if not isinstance(args[0], (StorageView, Unread)):
        raise RefusedError("its pickle has a parameter that is not a tensor")
    return args[0]


def _rebuild_from_type(args: tuple[Any, ...]) -> object:
    """torch: a function of those here, the class, its arguments, attributes."""
    return _made(args[0], args[2])


def _unread(kind: str) -> tuple[None, Callable[[tuple[Any, ...]], object]]:
    return None, lambda args: Unread(f"has {kind}, which is no plain array")


_CALLS: dict[str, tuple[tuple[int, ...] | None, Callable[[tuple[Any, ...]], object]]] = {
    "torch._utils._rebuild_tensor": (
        (4,),
        lambda args: _view(args, getattr(args[0], "dtype", None)),
    ),
    "torch._utils._rebuild_tensor_v2": ((6, 7), _rebuild_v2),
    "torch._utils._rebuild_tensor_v3": ((7, 8), _rebuild_v3),
    "torch._utils._rebuild_parameter": ((3,), _rebuild_parameter),
    "torch._utils._rebuild_parameter_with_state": ((4,), _rebuild_parameter),
    "torch._tensor._rebuild_from_type_v2": ((4,), _rebuild_from_type),
    "torch._utils._rebuild_sparse_tensor": _unread("a sparse tensor"),
    "torch._utils._rebuild_qtensor": _unread("a tensor that torch quantized"),
    "torch._utils._rebuild_nested_tensor": _unread("a nested tensor"),
    "torch._utils._rebuild_meta_tensor_no_storage": _unread("a tensor of the device meta"),
    "torch._utils._rebuild_wrapper_subclass": _unread("a tensor of a class of its own"),
    "torch._utils._rebuild_device_tensor_from_numpy": _unread("a tensor of another device"),
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": _unread("a tensor of another device"),
    "torch_npu.utils.storage._rebuild_npu_tensor": ((7,), lambda args: _rebuild_v2(args[:6])),
    "collections.OrderedDict": ((0,), lambda args: {}),
    "_codecs.encode": ((2,), lambda args: args[0]),  # bytes, as protocol 2 has them
    **dict.fromkeys(
        (
            *("torch.Size", "torch.device", "torch.serialization._get_layout"),
            *("collections.Counter", "builtins.bytearray", "builtins.set", "builtins.complex"),
        ),
        (None, lambda args: args),
    ),
}
"""What may be called: the counts of arguments, any if None, and what describes the result."""

_OTHER_NAMES = frozenset(
    f"torch.{name}"
    for name in (
        *("Tensor", "nn.parameter.Parameter", "nn.parameter.Buffer"),
        *("per_tensor_affine", "per_tensor_symmetric", "per_channel_affine"),
        *("per_channel_symmetric", "per_channel_affine_float_qparams"),
    )
)
ALLOWED = frozenset(_CALLS) | frozenset(STORAGES) | frozenset(DTYPES) | _OTHER_NAMES
"""The names a pickle may have; whoever adds one adds what is made of it."""

WAY_OUT = "; save tensors only, as torch.save({'x': x}, path)"
"""What to do about NumPy's scalars, whole modules and whatever else torch.load refuses."""


def _made(target: object, args: object) -> object:
    """What describes the result of a call."""
    text = target.text if isinstance(target, _Name) else ""
    counts, made = _CALLS.get(text, ((), None))
    is_usual = isinstance(args, tuple) and (counts is None or len(args) in counts)
    if made is None or not isinstance(args, tuple) or not is_usual:
        what = text or f"what is a {type(target).__name__}"
        raise RefusedError(f"refused: its pickle calls {what} in an unusual way{WAY_OUT}")
    return made(args)


def _is_key(value: object) -> bool:
    """Whether a dict may have it; hashing what nests deeply would overflow the C stack."""
    waiting, room = [value], 1000
    while waiting:
        one = waiting.pop()
        room -= len(one) if isinstance(one, (str, bytes, tuple)) and one is not value else 1
        if not isinstance(one, (str, int, float, bytes, type(None), _Name, tuple)) or room < 0:
            return False
        if isinstance(one, tuple):
            waiting += one[: room + 1]
    return True


def describe(data: bytes, limit: int) -> tuple[Any, int]:
    """Return what a pickle describes, and how many operations it took.

    Raises:
        RefusedError: it is malformed, of more than `limit` operations, or asks for what is refused.
    """
    if data[:1] != b"\x80":
        raise RefusedError("its pickle is malformed, or of a protocol before 2")
    machine, count = _Machine(), 0
    for opcode, argument in _operations(data):
        count += 1
        if count > limit:
            raise RefusedError(f"its pickle has more than {limit} operations")
        if opcode == "STOP":
            break
        _OPERATIONS[opcode](machine, argument)
    return machine.pop(), count


def _operations(data: bytes) -> Iterator[tuple[str, Any]]:
    """The operations of a pickle, with their data; decoding them looks nothing up."""
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name not in _OPERATIONS and opcode.name != "STOP":
                what = f"operation {opcode.code.encode('latin-1')!r}"
                raise RefusedError(f"refused: its pickle has {what}{WAY_OUT}")
            yield opcode.name, argument
    except ValueError as error:
        raise RefusedError(f"its pickle is malformed: {error}") from error


class _Machine:
    """A stack, and what has been put aside by number."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}

    def pop(self) -> Any:
        if len(self._stack) <= self._floor():
            raise RefusedError("its pickle is malformed: too little on its stack")
        return self._stack.pop()

    def _floor(self) -> int:
        return self._marks[-1] if self._marks else 0

    def pop_to_mark(self) -> list[Any]:
        if not self._marks:
            raise RefusedError("its pickle is malformed: a mark is missing")
        at = self._marks.pop()
        items = self._stack[at:]
        del self._stack[at:]
        return items

    def _top(self, kind: type) -> Any:
        """The container on top of the stack, to be filled."""
        if len(self._stack) <= self._floor() or not isinstance(self._stack[-1], kind):
            raise RefusedError(f"its pickle is malformed: it fills no {kind.__name__}")
        return self._stack[-1]

    def protocol(self, number: int) -> None:
        if not 2 <= number <= 5:
            raise RefusedError(f"its pickle is of protocol {number}; 2 to 5 are known")

    def mark(self) -> None:
        self._marks.append(len(self._stack))

    def push(self, value: object) -> None:
        self._stack.append(value)

    def pop_some(self, count: int) -> list[Any]:
        return [self.pop() for _ in range(count)][::-1]

    def extend(self, items: list[Any]) -> None:
        self._top(list).extend(items)

    def set_items(self, items: list[Any]) -> None:
        target = self._top(dict)
        for key in items[::2]:
            if not _is_key(key):
                raise RefusedError(f"its pickle has a key of type {type(key).__name__} in a dict")
        target.update(zip(items[::2], items[1::2], strict=True))

    def put(self, number: int | None) -> None:
        value = self.pop()
        self._stack.append(value)
        self._memo[len(self._memo) if number is None else number] = value

    def get(self, number: int) -> None:
        if number not in self._memo:
            raise RefusedError("its pickle is malformed: it recalls what it never had")
        self._stack.append(self._memo[number])

    def name(self, module_and_name: str) -> None:
        module, _, name = module_and_name.rpartition(" ")
        known = f"{'builtins' if module == '__builtin__' else module}.{name}"
        if known not in ALLOWED:
            asked = clean(f"{module}.{name}", 80)
            raise RefusedError(f"refused: the file asks for {asked}{WAY_OUT}")
        self._stack.append(_Name(known))

    def name_on_stack(self) -> None:
        module, name = self.pop_some(2)
        if not isinstance(name, str) or not isinstance(module, str):
            raise RefusedError("its pickle is malformed: a name is not text")
        self.name(f"{module} {name}")

    def call(self) -> None:
        target, args = self.pop_some(2)
        self._stack.append(_made(target, args))

    def build(self) -> None:
        self.pop()  # attributes, such as a state_dict's _metadata
        self._top(dict)

    def refer(self) -> None:
        given = self.pop()
        if not isinstance(given, tuple) or len(given) != 5 or given[0] != "storage":
            raise RefusedError("its pickle refers to something that is not a storage")
        _, kind, key, _, count = given
        dtype = STORAGES.get(kind.text) if isinstance(kind, _Name) else None
        if dtype is None or not isinstance(key, str) or type(count) is not int or count < 0:
            raise RefusedError("its pickle has a malformed storage")
        self._stack.append(Storage(dtype, key, count))


_Operation = Callable[[_Machine, Any], object]
_PUSHED = (
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "NONE"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    "SHORT_BINSTRING",
)
_OPERATIONS: dict[str, _Operation] = {
    **dict.fromkeys(_PUSHED, _Machine.push),
    **dict.fromkeys(("BINPUT", "LONG_BINPUT", "MEMOIZE"), _Machine.put),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), _Machine.get),
    "PROTO": _Machine.protocol,
    "GLOBAL": _Machine.name,
    "FRAME": lambda machine, _: None,
    "POP": lambda machine, _: machine.pop(),
    "MARK": lambda machine, _: machine.mark(),
    "NEWTRUE": lambda machine, _: machine.push(True),
    "NEWFALSE": lambda machine, _: machine.push(False),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.pop_to_mark())),
    "TUPLE1": lambda machine, _: machine.push(tuple(machine.pop_some(1))),
    "TUPLE2": lambda machine, _: machine.push(tuple(machine.pop_some(2))),
    "TUPLE3": lambda machine, _: machine.push(tuple(machine.pop_some(3))),
    "APPEND": lambda machine, _: machine.extend(machine.pop_some(1)),
    "APPENDS": lambda machine, _: machine.extend(machine.pop_to_mark()),
    "SETITEM": lambda machine, _: machine.set_items(machine.pop_some(2)),
    "SETITEMS": lambda machine, _: machine.set_items(machine.pop_to_mark()),
    "STACK_GLOBAL": lambda machine, _: machine.name_on_stack(),
    "REDUCE": lambda machine, _: machine.call(),
    "NEWOBJ": lambda machine, _: machine.call(),
    "BUILD": lambda machine, _: machine.build(),
    "BINPERSID": lambda machine, _: machine.refer(),
}
"""What is done by the operations, by pickletools' names of them."""
