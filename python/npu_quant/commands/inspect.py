"""``npu-quant inspect``: what is in files of arrays."""

from __future__ import annotations

import dataclasses
import math
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Any

from .._shell import is_unicode
from .._shown import plain
from ..files import FileError, FileSource, load
from ..files.common import File, row_of
from ..files.raw import sizes_text
from ..golden.report import words
from ..golden.sources import crc32, size_of
from .arguments import Parser, add_json, add_reading
from .console import write, write_error, write_json
from .files import FLOAT_BITS, RAW, Reading, listed
from .outputs import check_outputs, split
from .progress import progress_bar
from .statistics import Statistics, statistics_of

DESCRIPTION = """\
Summarize the arrays in files.

  npu-quant inspect x.npy model.safetensors
  npu-quant inspect dump.bin --dtype bf16 --shape 32,2048

For each array, the command prints dtype, shape, range, mean, a histogram, and counts of NaN,
infinities, zeros and values at the limits of the dtype. For a raw file without --dtype it prints
how many elements the file may have.

Exit status: 0, or 2 if a file cannot be read."""

SCHEMA_VERSION = 1
_BARS, _PLAIN_BARS = " ▁▂▃▄▅▆▇█", " .:-=+*#@"


def parser() -> Parser:
    """Return the parser of the arguments."""
    result = Parser("inspect", DESCRIPTION)
    result.usage = "npu-quant inspect [options] FILE [FILE ...]"
    result.add_argument("files", nargs="*", metavar="FILE", help="FILE or FILE::KEY")
    add_reading(result, names=False)
    add_json(result.add_argument_group("report"))
    return result


def run(words_: Sequence[str]) -> int:
    """Print what is in the files the arguments name, and return the exit status."""
    parsing = parser()
    arguments = parsing.parse(words_, "files")
    if not arguments.files:
        parsing.error("the following arguments are required: FILE")
    check_outputs(arguments, arguments.files)
    reading = Reading(arguments.dtype or {}, arguments.shape or {}, arguments.key)
    found: list[dict[str, Any]] = []
    status = 0
    for word in arguments.files:
        try:
            for data, text in _arrays(word, reading, arguments):
                found.append(data)
                if arguments.json != "-":
                    write(text)
        except (FileError, OSError) as error:
            write_error("npu-quant inspect", str(error))
            status = 2
    if status == 0:
        reading.check_used()
    if arguments.json is not None:
        write_json({"schema_version": SCHEMA_VERSION, "arrays": found}, arguments.json)
    return status


def _arrays(
    word: str, reading: Reading, arguments: Namespace
) -> Iterator[tuple[dict[str, Any], str]]:
    """Describe what a word names: an array, or all that a file has."""
    path, key = split(word)
    arrays = listed(path)
    if arrays and arrays[0][1] == RAW and (not reading.dtypes or not reading.shapes):
        yield _raw(path, arrays[0][2][0], reading)
        return
    if key is None and reading.key is None and len(arrays) > 1:
        chosen = [f"{path}::{name}" for name, _, _ in arrays]
    else:
        chosen = [word]
    faults = []
    for one in chosen:
        with reading.open(one) as source:
            data, text = _described(source)
            option = None if reading.dtypes else FLOAT_BITS.get(data["dtype"])
            hint = f"\n  if the bytes stand for floats: --dtype {option}"
            yield data, text + hint if option else text
            try:
                source.check_sum()
            except FileError as error:
                faults.append(error)
    if faults:  # when all has been described
        raise faults[0]


def _raw(path: str, size: int, reading: Reading) -> tuple[dict[str, Any], str]:
    """Describe a file without a header: as one axis if its dtype is known, else by its size."""
    if reading.dtypes:
        name, carrier = row_of(reading.dtypes[""], File(path))
        reading.used.add("--dtype")
        count = 2 * size if carrier is None else size // carrier.itemsize
        with load(path, dtype=name, shape=(count,)) as source:
            return _described(source)
    lines = [f"{path}  raw, {words.counted(size, 'byte')}"]
    reading.used.add("--shape")
    lines.append(sizes_text(size, reading.shapes.get("")) if size else "it is empty")
    lines.append("compare needs --dtype and --shape for it, unless its golden says them")
    return {"file": path, "bytes": size}, "\n  ".join(lines)


def _described(source: FileSource) -> tuple[dict[str, Any], str]:
    with progress_bar(f"inspecting {source.name}", quiet=False) as progress:
        statistics = statistics_of(source, progress)
    data = {
        "file": source.path,
        "key": source.key,
        "dtype": source.dtype.name,
        "shape": list(source.shape),
        "bytes": size_of(source) * source.dtype.itemsize,
        "crc32": f"{crc32(source):08x}",
        **plain(dataclasses.asdict(statistics)),
    }
    text = _text_of(source, data["bytes"], statistics)
    return data, f"{text}\n  CRC-32 {data['crc32']}"


def _text_of(source: FileSource, size: int, s: Statistics) -> str:
    lines = [f"{source.name}  {source.dtype.name} {source.shape}  {words.counted(size, 'byte')}"]
    if s.count == 0:
        return f"{lines[0]}\n  it is empty"
    low, high, mean, deviation = map(words.number, (s.minimum, s.maximum, s.mean, s.deviation))
    if not math.isnan(s.minimum):
        lines.append(f"range {low} to {high}  mean {mean}  standard deviation {deviation}")
    lines.append(
        f"NaN: {words.count(s.nan)}  inf: {words.count(s.inf)}  -inf: {words.count(s.minus_inf)}  "
        f"zero: {_of(s.zeros, s.count)}"
    )
    if source.dtype.kind != "b":
        least, greatest = map(words.number, s.limits)
        below = " or less" if source.dtype.kind == "i" else ""
        lines.append(
            f"at the dtype's limits: {_of(s.at_least, s.count)} at {least}{below}, "
            f"{_of(s.at_greatest, s.count)} at {greatest}"
        )
    if len(s.histogram) > 1:
        lines.append(f"{low} |{bars(s.histogram, is_unicode(sys.stdout))}| {high}")
    return "\n  ".join(lines)


def _of(part: int, whole: int) -> str:
    return f"{words.count(part)} ({words.share(part, whole)})" if part else "0"


def bars(counts: Sequence[int], unicode: bool) -> str:
    """Draw a histogram in one line; what is not empty shows."""
    steps = _BARS if unicode else _PLAIN_BARS
    top = max(counts)
    heights = [math.ceil((len(steps) - 1) * n / top) for n in counts]
    return "".join(steps[height] for height in heights)
