"""The groups of compressed-tensors: what each says of its modules, and the type that it makes them.

vllm-ascend decides by type, bits, strategy, symmetry and time of both sides, weights and inputs,
and by the format (quantization/compressed_tensors_config.py at 182b75ea, with vLLM 0.27.1 and
compressed-tensors 0.17). It never looks at the names of groups.
"""

from __future__ import annotations

from typing import Any, NamedTuple

LINEARS, EXPERTS = "Linears", "experts"
UNKNOWN = "unknown"
"""The type of modules that vllm-ascend refuses, or of which nobody knows which it has."""
_NO_INPUTS = "no inputs"
_ACTIVATIONS = ("naive-quantized", "int-quantized", "float-quantized", "nvfp4-pack-quantized")
"""The formats in which vLLM looks at input_activations (is_activation_quantization_format)."""


class Form(NamedTuple):
    """A type of vllm-ascend: the layers that it has it for, and what it needs groups to say."""

    type: str
    layers: tuple[str, ...]
    needs: dict[str, tuple[Any, ...]]
    """Of a key of a group, the values that it may have."""


def _form(type: str, layers: str, weights: str, inputs: str, **more: tuple[Any, ...]) -> Form:
    """A row of FORMS: of weights bits and strategies; of inputs bits, strategy and time, or "".

    Weights are static. Where there are inputs, both sides are symmetric.
    """
    bits, strategies = weights.split()
    needs: dict[str, tuple[Any, ...]] = {
        "weights.num_bits": (int(bits),),
        "weights.strategy": tuple(strategies.split("|")),
        "weights.dynamic": (False,),
    }
    if inputs:
        bits, strategy, time = inputs.split()
        needs["weights.symmetric"] = needs["input_activations.symmetric"] = (True,)
        needs["input_activations.num_bits"] = (int(bits),)
        needs["input_activations.strategy"] = (strategy,)
        needs["input_activations.dynamic"] = (time == "dynamic",)
    else:
        needs["input_activations.num_bits"] = (_NO_INPUTS,)
    needs |= {key.replace("__", "."): values for key, values in more.items()}
    return Form(type, tuple(layers.split()), needs)


_FLOATS: dict[str, Any] = {"weights__type": ("float",), "input_activations__type": ("float",)}
_INTS: dict[str, Any] = {"weights__type": ("int",)}
FORMS = (
    # type, the layers that have it, weights, inputs
    _form("W8A8", "Linears", "8 channel", "8 tensor static"),
    _form("W8A8FP8_DYNAMIC", "Linears experts", "8 channel", "8 token dynamic", **_FLOATS),
    _form("W8A8_DYNAMIC", "Linears experts", "8 channel", "8 token dynamic"),
    _form("W4A8_DYNAMIC", "experts", "4 channel|group", "8 token dynamic"),
    _form("W4A16", "experts", "4 group", "", **_INTS),
)
"""In the order in which vllm-ascend tries them: the first that fits is the type."""


class Group(NamedTuple):
    """What a group says: of each key the value that consumers read; no targets of its own."""

    name: str
    says: dict[str, Any]
    drops_inputs: bool
    """Whether its input_activations are not looked at, because of the format."""


class GroupError(Exception):
    """A consumer cannot read what a group says; the text says why."""


def type_of(group: Group, layers: str) -> tuple[str, str]:
    """Return the type that vllm-ascend gives to Linears or to experts, and why it gives none.

    Returns:
        The type and "", or :data:`UNKNOWN` and the reason.
    """
    unlike = [(_unlike(form, group), form) for form in FORMS]
    form = next((form for keys, form in unlike if not keys), None)
    if form is None and group.drops_inputs:
        known = ", ".join(_ACTIVATIONS)
        why = f"its format is {group.says['format']!r:.40}, but vLLM reads input_activations of"
        return UNKNOWN, f"{why} {known} only"
    if form is None:
        keys, form = min(unlike, key=lambda one: len(one[0]))
        return UNKNOWN, "; ".join(_needs(form, key, group) for key in keys[:2])
    if layers not in form.layers:
        return UNKNOWN, f"{form.type} is a type of {form.layers[0]} only"
    size = group.says["weights.group_size"]
    if form.type == "W4A8_DYNAMIC" and (size or 0) > 0:
        return (
            UNKNOWN,
            f"weights.group_size is {size!r:.20}, {form.type} needs scales of whole rows",
        )
    return form.type, ""


def _unlike(form: Form, group: Group) -> list[str]:
    """The keys that are not as a form needs them."""
    return [key for key, values in form.needs.items() if group.says[key] not in values]


def _needs(form: Form, key: str, group: Group) -> str:
    said, may = group.says[key], [str(value).lower() for value in form.needs[key]]
    if said == _NO_INPUTS:
        return f"its inputs are not quantized, {form.type} needs input_activations"
    if may == [_NO_INPUTS]:
        return f"its inputs are quantized, {form.type} needs input_activations null"
    return f"{key} is {str(said).lower():.20}, {form.type} needs {' or '.join(may)}"


FLOAT_SCALES = ("BF16", "F16", "F32")
PACKED = 8
"""int4 codes in an int32 of weight_packed."""


class Part(NamedTuple):
    """A tensor that a type needs, beside the bias: the dtypes and shapes that consumers read."""

    kinds: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]


def parts_of(type: str, n: int, k: int, group_size: int = 0) -> dict[str, Part]:
    """Return the tensors of a module of a type and a weight [n, k]; {} of types not in FORMS.

    They are what get_weight, get_perchannel_param and the like of vllm-ascend's
    quantization/methods have, without those that it computes itself.
    """
    if type not in {form.type for form in FORMS}:
        return {}
    if type == "W4A16":
        return {
            "weight_packed": Part(("I32",), ((n, k // PACKED),)),
            "weight_scale": Part(FLOAT_SCALES, ((n, k // (group_size or k or 1)),)),
            "weight_shape": Part(("I64", "I32"), ((2,),)),
        }
    codes = "F8_E4M3" if type == "W8A8FP8_DYNAMIC" else "I8"
    parts = {"weight": Part((codes,), ((n, k),)), "weight_scale": Part(FLOAT_SCALES, ((n, 1),))}
    return parts | ({"input_scale": Part(FLOAT_SCALES, ((1,), ()))} if type == "W8A8" else {})


# ---- Reading, as pydantic reads compressed-tensors' QuantizationArgs.

_TYPES, _TIMES = ("int", "float"), ("local",)
_STRATEGIES = ("tensor", "channel", "group", "block", "token", "tensor_group", "attn_head")
_ORDERS = {"group": "group", "dynamic": "group", "weight": "weight", "static": "weight"}
_TRUE, _FALSE = ("1", "true", "t", "yes", "y", "on"), ("0", "false", "f", "no", "n", "off")
_DEFAULTS: dict[str, Any] = {
    "num_bits": 8,
    "type": "int",
    "symmetric": True,
    "group_size": None,
    "strategy": None,
    "block_structure": None,
    "dynamic": False,
    "actorder": None,
    "scale_dtype": None,
    "zp_dtype": None,
    "observer": None,
    "observer_kwargs": {},
}


def read_group(name: str, given: dict[str, Any], format: Any) -> Group:
    """Read what a group says of both sides.

    Args:
        name: the group's.
        given: the group as config.json has it.
        format: of the whole model; a group may have its own.

    Raises:
        GroupError: no consumer can read it.
    """
    own = given.get("format")
    format = format if own is None else own
    inputs, drops_inputs = given.get("input_activations"), format not in _ACTIVATIONS
    drops_inputs &= inputs is not None
    says = {f"weights.{key}": value for key, value in _read("weights", given.get("weights"))}
    if inputs is None or drops_inputs:
        says |= {f"input_activations.{key}": _NO_INPUTS for key in _DEFAULTS}
    else:
        read = _read("input_activations", inputs)
        says |= {f"input_activations.{key}": value for key, value in read}
    return Group(name, says | {"format": format}, drops_inputs)


def _read(side: str, given: Any) -> list[tuple[str, Any]]:
    if not isinstance(given, dict):
        raise GroupError(f"{side} is {given!r:.40}, not an object")
    if unknown := [key for key in given if key not in _DEFAULTS]:
        raise GroupError(f"{side} has {unknown[0]!r:.40}, which compressed-tensors does not know")
    read = {**_DEFAULTS, **given}
    for key, convert in _CONVERT.items():
        try:
            read[key] = convert(read[key])
        except (ValueError, TypeError, OverflowError):
            raise GroupError(f"{side}.{key} is {read[key]!r:.40}") from None
    if read["strategy"] is None:
        read["strategy"] = _strategy_of(read["group_size"], side)
    for is_so, text in _contradictions(read):
        if is_so:
            raise GroupError(f"{side}: {text}")
    return [*read.items()]


def _strategy_of(size: int | None, side: str) -> str:
    if size == 0:
        raise GroupError(f"{side}.group_size is 0")
    return "tensor" if size is None else "group" if size > 0 else "channel"


def _contradictions(read: dict[str, Any]) -> list[tuple[bool, str]]:
    """What compressed-tensors refuses of keys that it can read one by one."""
    strategy, size, dynamic = read["strategy"], read["group_size"] or 0, read["dynamic"]
    is_group, is_block = strategy in ("group", "tensor_group"), strategy == "block"
    bits, has_zero_dtype = read["num_bits"], read["zp_dtype"] is not None
    is_timed = strategy in ("token", "tensor", "tensor_group", "group")
    return [
        (strategy == "token" and not dynamic, "strategy token must be dynamic"),
        (is_group and size <= 0, f"strategy {strategy} needs a group_size"),
        (size > 0 and not is_group, f"strategy {strategy} has a group_size"),
        (is_block != (read["block_structure"] is not None), "block_structure and strategy differ"),
        (read["actorder"] == "group" and not is_group, f"strategy {strategy} has an actorder"),
        (bool(dynamic) and not is_timed, f"strategy {strategy} cannot be dynamic"),
        (dynamic == "local" and strategy != "tensor_group", "dynamic is local"),
        (
            read["type"] == "float" and bits not in (4, 8) and not has_zero_dtype,
            f"type is float, num_bits {bits!r:.20}",
        ),
    ]


def _integer(value: Any) -> int:
    if isinstance(value, (int, str)) or (isinstance(value, float) and value == int(value)):
        return int(value)
    raise ValueError


def _boolean(value: Any) -> bool:
    if isinstance(value, str):
        value = value.lower()
    if value in (True, *_TRUE):
        return True
    if value in (False, *_FALSE):
        return False
    raise ValueError


def _size(value: Any) -> int | None:
    if value is None:
        return None
    if value < -1:
        raise ValueError
    return _integer(value)


def _word(words: tuple[str, ...], value: Any) -> str:
    return words[words.index(value.lower() if isinstance(value, str) else value)]


def _order(value: Any) -> str | None:
    if value is None or value in (0, 1):
        return "group" if value is True else None
    if not isinstance(value, str) or value.lower() not in _ORDERS:
        raise ValueError
    return _ORDERS[value.lower()]


def _block(value: Any) -> Any:
    if isinstance(value, str):
        value = [int(number) for number in value.split("x")]
    is_right = isinstance(value, list) and len(value) == 2
    if value is not None and not (is_right and all(isinstance(n, int) for n in value)):
        raise ValueError
    return value


_CONVERT = {
    "num_bits": _integer,
    "type": lambda value: _word(_TYPES, value),
    "symmetric": _boolean,
    "group_size": _size,
    "strategy": lambda value: None if value is None else _word(_STRATEGIES, value),
    "block_structure": _block,
    "dynamic": lambda v: _word(_TIMES, v) if isinstance(v, str) else _boolean(v),
    "actorder": _order,
}
