"""A quantized model beside its original: counterparts, and the verdict of each module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..files.safetensors import NUMPY
from .check_layers import (
    NARROW,
    SEARCHED,
    Compared,
    Rows,
    allowed_rows,
    codes_of,
    compare_rows,
    shape_of,
)
from .check_report import TRANSFORMED, UNEXPLAINED, CheckedLayer, ratio_text
from .check_static import STATIC_ONLY
from .check_tensors import KEYLESS
from .check_values import CACHES
from .config import Config
from .copied import contents_of, left_behind
from .folder import FLOATS, CheckpointError, Tensor, is_regular, json_of, shards_of
from .matrices import Matrix, bands, bytes_of, pieces
from .plan import tensor_of
from .quantized import QuantizedModel
from .reports import Findings
from .schemes import WIDTHS
from .sources import sources_of

VOCABULARIES = ("tokenizer.json", "vocab.json", "vocab.txt")


class Original:
    """The model that a quantized one is said to come of."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = Config(json_of(folder / "config.json"))
        shards = shards_of(folder)
        tensors = {t.name: t for shard in shards for t in shard.tensors}
        self.left_files = left_behind(folder, (shard.name for shard in shards))
        """Files of other weights, which the quantized model was not made of."""
        self.sources: dict[str, Tensor | Matrix] = {}
        for source in sources_of(tensors, self.config).all:
            name = source.name if isinstance(source, Tensor) else f"{source.module}.weight"
            self.sources[name] = source

    def matrix(self, model: QuantizedModel, module: str) -> Matrix | None:
        """Return the original of a quantized module that can be compared."""
        source = self.sources.get(f"{module}.weight")
        if not isinstance(source, Matrix) or codes_of(model, module) is None:
            return None
        return source if source.shape == shape_of(model, module) else None


class Float(NamedTuple):
    """A FLOAT tensor that is compared with the original's."""

    name: str
    size: int


def is_same(model: QuantizedModel, original: Original, task: Float) -> bool:
    """Say whether a FLOAT tensor has the values of the original's."""
    source = original.sources[task.name]
    tensor, at = model.tensors[task.name], 0
    kind = tensor_of(source).kind
    for band in _bands(original.folder, source, as_bytes=tensor.kind == kind):
        raw = band if tensor.kind == kind else band.astype(NUMPY[tensor.kind])
        there = bytes_of(model.folder, tensor, at, raw.nbytes)
        if (there != raw.reshape(-1).view(np.uint8)).any():
            return False
        at += raw.nbytes
    return True


def _bands(original: Path, source: Tensor | Matrix, *, as_bytes: bool) -> Iterator[NDArray[Any]]:
    if isinstance(source, Matrix):
        for _, _, band in source.bands(original, 0, source.shape[0], as_bytes=as_bytes):
            yield band
        return
    for begin, end in bands(0, source.size, 1):
        raw = bytes_of(original, source, begin, end - begin)
        yield raw if as_bytes else raw.view(NUMPY[source.kind])


def report_floats(seen: Iterable[tuple[Float, bool]], found: Findings) -> None:
    """Add the FLOAT tensors that have others."""
    text = "differs from the original: consumers compute another model"
    for name in (task.name for task, is_right in seen if not is_right):
        found.error("float-changed", name, text)


def rows_of(model: QuantizedModel, original: Original) -> Iterator[Rows]:
    """Yield rows of all modules that can be compared with the original."""
    for module in model.types:
        if (matrix := original.matrix(model, module)) is not None:
            for begin, end in pieces(0, matrix.shape[0], matrix.row_bytes):
                yield Rows(module, begin, end, (end - begin) * matrix.row_bytes)


def compare(model: QuantizedModel, original: Original, task: Rows) -> Compared:
    """Compare rows of a module with what recipes make of the original's."""
    matrix = original.matrix(model, task.module)
    assert matrix is not None
    return compare_rows(model, original.folder, matrix, task)


def check_names(model: QuantizedModel, original: Original, found: Findings) -> list[Float]:
    """Find what has no counterpart; return the FLOAT tensors whose elements can be compared."""
    result = []
    for name, source in original.sources.items():
        tensor = model.tensors.get(name)
        if tensor is None:
            is_packed = model.matrix(name.removesuffix(".weight")) is not None
            if not (name in model.lost or is_packed or _is_in_quant_bias(model, name)):
                text = "is in the original only: consumers leave its layer uninitialised"
                found.error("missing-layer", name, text)
            continue
        is_quantized = name.removesuffix(".weight") in model.types and name.endswith(".weight")
        if is_quantized:
            _check_shape(model, name, source, found)
            continue
        kind = tensor_of(source).kind
        can_cast = kind in FLOATS or isinstance(source, Matrix)
        is_kind = tensor.kind == kind or (can_cast and tensor.kind in ("F32", WIDTHS[model.params]))
        if tensor.shape != source.shape or not is_kind:
            text = f"is {tensor.kind} {tensor.shape}, but the original is {kind} {source.shape}"
            found.error("float-changed", name, f"{text}: consumers compute another model")
        elif model.is_readable(name):
            result.append(Float(name, tensor.size))
    for name in model.tensors:
        if name in original.sources or _is_of_quantizing(model, name):
            continue
        if name.endswith("norm.bias") or _is_in_quant_bias(model, name):
            text = "is not in the original: a bias of moved outliers, which consumers add"
            found.warning("extra-tensor", name, text)
        else:
            found.error("extra-tensor", name, "is not in the original: loading may fail on it")
    return result


def _is_of_quantizing(model: QuantizedModel, name: str) -> bool:
    """Say whether a tensor is what quantizers add: to a module, to keys and values, a rotation."""
    module, _, last = name.rpartition(".")
    is_part = module in model.types and last not in ("weight", "bias")
    return is_part or model.keys.get(name) in CACHES or last in KEYLESS


def _is_in_quant_bias(model: QuantizedModel, name: str) -> bool:
    """Say whether a tensor is a bias that consumers do not read, because quant_bias has it."""
    module, _, last = name.rpartition(".")
    return last == "bias" and model.types.get(module) in STATIC_ONLY and model.is_ascend


def _check_shape(
    model: QuantizedModel, name: str, source: Tensor | Matrix, found: Findings
) -> None:
    module = name.removesuffix(".weight")
    if model.is_readable(name) and codes_of(model, module) is not None:
        shape = shape_of(model, module)
        if shape != source.shape:
            text = f"has shape {shape}, but the original {source.shape}: is it another model?"
            found.error("shape", name, text)


def check_copied(model: QuantizedModel, original: Original, found: Findings) -> None:
    """Find files of the original, beside its weights, that are not there."""
    try:
        names = contents_of(original.folder).files
    except (CheckpointError, OSError) as error:
        found.warning(
            "missing-file",
            original.folder.name,
            f"{str(error).rstrip('.')}: its files are not compared",
        )
        return
    has_vocabulary = any(is_regular(model.folder / name) for name in names if _is_vocabulary(name))
    for name in names:
        if is_regular(model.folder / name):
            continue
        text = "is in the original only: "
        if name.endswith(".py"):
            found.error("missing-file", name, f"{text}vLLM cannot run the model's own code")
        elif _is_vocabulary(name) and not has_vocabulary:
            found.error("missing-file", name, f"{text}vLLM finds no tokenizer, and ends")
        else:
            found.warning("missing-file", name, f"{text}consumers that read it do without it")


def _is_vocabulary(name: str) -> bool:
    """Say whether a file has the words of a tokenizer: any one of them is enough to load it."""
    return name in VOCABULARIES or name.endswith((".model", ".tiktoken"))


def check_config(model: QuantizedModel, original: Original, found: Findings) -> None:
    """Find keys of config.json that quantizing does not change."""
    said = original.config.dtype or "bfloat16"
    ours = Config(model.config.written(said, None)).data
    theirs = Config(original.config.written(said, None)).data
    for key in dict.fromkeys([*theirs, *ours]) if model.has_config else ():
        if ours.get(key) != theirs.get(key) and key not in ("torch_dtype", "dtype"):
            text = f"{key} is {ours.get(key)!r:.60}, but the original has {theirs.get(key)!r:.60}"
            found.warning("config-changed", key, f"{text}: consumers build another model")


def judge(
    model: QuantizedModel, seen: Iterable[tuple[Rows, Compared]], found: Findings
) -> list[CheckedLayer]:
    """Name each module's recipe, and find what no recipe explains."""
    compared: dict[str, Compared] = {}
    for task, rows in seen:
        compared.setdefault(task.module, Compared()).add(rows)
    layers = []
    transformed: Counter[str] = Counter()
    for module, type in model.types.items():
        if (weight := model.matrix(module)) is None or len(weight.shape) != 2:
            continue
        layer = CheckedLayer(module, type, shape_of(model, module))
        if module in compared:
            _fill(layer, compared[module])
            if count := compared[module].nonfinite:
                text = f"{count} values of the original are NaN or infinite: their rows"
                found.warning("nonfinite", weight.name, f"{text} cannot be judged")
            transformed[type] += layer.recipe == TRANSFORMED
        layers.append(layer)
    total = Counter(layer.type for layer in layers)
    for type, count in transformed.items():
        if count > total[type] / 2:
            text = f"{count} modules of {type} correlate below 0.9 with the original, which"
            found.warning("codes", type, f"{text} is not what was quantized (smoothed or rotated)")
    for layer in layers:
        is_all = transformed[layer.type] > total[layer.type] / 2
        if (layer.recipe == TRANSFORMED and is_all) or layer.first is None:
            continue
        found.error("codes", layer.name, _text_of(layer))
    return layers


def _text_of(layer: CheckedLayer) -> str:
    end = f"the first at {list(layer.first or ())}: outputs are wrong there"
    if layer.recipe not in UNEXPLAINED:
        text = f"{layer.codes_different} codes and {layer.scales_different} scales differ"
        return f"{text} from {layer.recipe}, {end}"
    ratio = f" (scale / amax is {ratio_text(layer.scale_ratio)})" if layer.scale_ratio else ""
    text = f"{layer.codes_different} codes differ from the original divided by the stored scales"
    return f"{text}{ratio}, {end}"


def _fill(layer: CheckedLayer, c: Compared) -> None:
    allowed = allowed_rows(layer.shape[0])
    known = {n: k for n, k in c.counts.items() if not n.startswith(SEARCHED)}
    fits = {n: k for n, k in known.items() if k.rows <= min(allowed, layer.shape[0] - 1)}
    own = min((k for n, k in c.counts.items() if n not in known), key=lambda k: (k.rows, k.codes))
    cosine = c.error.cosine
    if fits:
        name = min(fits, key=lambda n: fits[n].rows)
        count, layer.recipe = fits[name], name.removesuffix(NARROW)
        layer.scales_different = count.scales
    else:
        name = min(known, key=lambda n: (known[n].scales, known[n].rows))
        count, layer.recipe = own, SEARCHED if own.rows <= allowed else "other"
        layer.scale_ratio = c.ratio if c.ratio[1] > 0 else None
        if cosine is not None and cosine < 0.9:
            layer.recipe = TRANSFORMED
        layer.scales_different = known[name].scales
    layer.codes_different = count.codes
    layer.first = count.first
    if layer.recipe == TRANSFORMED and layer.first is None:
        layer.first = (0, 0)
    layer.measure(c.error)
    layer.cosine = cosine


def recipes_of(layers: list[CheckedLayer]) -> dict[str, str | None]:
    """Return the recipe of most layers of each type."""
    result: dict[str, str | None] = {}
    for type in dict.fromkeys(layer.type for layer in layers):
        names = Counter(x.recipe for x in layers if x.type == type and x.recipe)
        result[type] = names.most_common(1)[0][0] if names else None
    return result
