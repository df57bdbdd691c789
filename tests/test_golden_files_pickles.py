"""Tensors in files made by hand as torch.save makes them, and what such files may not ask for."""

from __future__ import annotations

import os
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_files import (
    HOOKS,
    Code,
    archive,
    call,
    check,
    name,
    pickled,
    put,
    refusal,
    some,
    storage,
    tensor,
    torch_file,
)

from npu_quant.files import list_arrays, load
from npu_quant.files import pickled as machine

X = np.arange(12, dtype=np.float32)
DATA = {"0": X.tobytes()}
NPU = "torch_npu.utils.storage._rebuild_npu_tensor"
V2, V3 = "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3"


def file_of(tmp_path: Path, root: object, **more: Any) -> Path:
    return put(tmp_path / "x.pt", torch_file(root, more.pop("storages", DATA), **more))


class TestByHand:
    def test_a_tensor_of_an_npu(self, tmp_path: Path) -> None:
        """Where it was does not matter, nor which format it had there."""
        for location in ("npu:0", "cuda:1", "cpu", "anything"):
            path = file_of(tmp_path, tensor((3, 4), strides=(4, 1), location=location))
            check(load(path), X.reshape(3, 4))
        held = storage("torch.FloatStorage", "0", 12, "npu:0")
        for form in (2, 29, True):
            check(
                load(file_of(tmp_path, call(NPU, held, 0, (3, 4), (4, 1), False, HOOKS, form))),
                X.reshape(3, 4),
            )
        for metadata in ({}, {"npu_format_/FRACTAL_NZ": True}, None):
            check(
                load(file_of(tmp_path, call(V2, held, 0, (12,), (1,), False, HOOKS, metadata))), X
            )

    def test_windows_on_a_storage(self, tmp_path: Path) -> None:
        for shape, strides, offset, expected in [
            ((4, 3), (1, 4), 0, X.reshape(3, 4).T),
            ((2, 2), (4, 2), 5, X[5:].reshape(-1)[[0, 2, 4, 6]].reshape(2, 2)),
            ((3, 2), (0, 1), 10, np.stack([X[10:]] * 3)),
            ((), (), 7, X[7]),
            ((0,), (1,), 12, X[:0]),
            ((0, 5), (9, 9), 99, X[:0].reshape(0, 5)),
            ((1, 12), ((1 << 63) - 1, 1), 0, X.reshape(1, 12)),
            ((1, 6), ((1 << 63) - 1, 2), 0, X[::2].reshape(1, 6)),
        ]:
            path = file_of(tmp_path, tensor(shape, strides=strides, offset=offset))
            check(load(path), np.asarray(expected))

    def test_keys_lead_to_the_tensors(self, tmp_path: Path) -> None:
        one, two = tensor((12,), strides=(1,)), tensor((3,), strides=(2,))
        root = {"a": {"b": one, "c": [two, (one,)]}, 7: two, "n": 3, "s": "text", "f": [None, True]}
        path = file_of(tmp_path, root)
        assert [key for key, _, _ in list_arrays(path)] == ["a.b", "a.c.0", "a.c.1.0", "7"]
        check(load(path, key="a.c.0"), X[:6:2])
        assert "choose one by its key: a.b, a.c.0, a.c.1.0, 7" in refusal(path)
        check(load(file_of(tmp_path, {"x": [1, {"y": one}]})), X)
        twice = file_of(tmp_path, {"a": {"b": one}, "a.b": one})
        assert "has several tensors called a.b" in refusal(twice)
        assert "has no arrays in it" in refusal(file_of(tmp_path, {"a": 1}))

    def test_storages_of_every_kind(self, tmp_path: Path) -> None:
        for kind, dtype in machine.STORAGES.items():
            if dtype and dtype not in machine.UNREAD:
                x = some((5,), dtype)
                root = tensor((5,), strides=(1,), count=5, kind=kind)
                check(load(file_of(tmp_path, root, storages={"0": x.tobytes()})), x)
        for full, dtype in machine.DTYPES.items():
            if dtype in machine.UNREAD:
                continue
            x = some((5,), "uint8" if "float4" in dtype else dtype)
            held = storage("torch.storage.UntypedStorage", "0", x.nbytes)
            root = call(V3, held, 0, (5,), (1,), False, HOOKS, name(full))
            check(load(file_of(tmp_path, root, storages={"0": x.tobytes()})), x)

    def test_both_byte_orders(self, tmp_path: Path) -> None:
        x = some((12,), "float32")
        path = file_of(
            tmp_path,
            tensor((12,), strides=(1,)),
            storages={"0": x.byteswap().tobytes()},
            order=b"big",
        )
        check(load(path), x)
        assert "unknown byteorder b'middle'" in refusal(
            file_of(tmp_path, tensor((12,), strides=(1,)), order=b"middle")
        )

    def test_seen_as_another_dtype(self, tmp_path: Path) -> None:
        check(load(file_of(tmp_path, tensor((12,), strides=(1,))), dtype="int32"), X.view(np.int32))

    def test_a_deflated_archive(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(file_of(tmp_path, tensor((4, 3), strides=(1, 4)))) as source:
            members = {n: source.read(n) for n in source.namelist()}
        path = put(tmp_path / "y.pt", archive(members, zipfile.ZIP_DEFLATED))
        check(load(path), X.reshape(3, 4).T)

    def test_an_archive_of_64_bit_sizes(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(file_of(tmp_path, tensor((12,), strides=(1,)))) as source:
            members = {n: source.read(n) for n in source.namelist()}
        with zipfile.ZipFile(tmp_path / "y.pt", "w") as target:
            for n, data in members.items():
                with target.open(n, "w", force_zip64=True) as member:
                    member.write(data)
        check(load(tmp_path / "y.pt"), X)


V2_ARGS = ((12,), (1,), False, HOOKS)
HELD = storage("torch.FloatStorage", "0", 12)


class TestMalformed:
    @pytest.mark.parametrize(
        ("root", "text"),
        [
            (tensor((12,), strides=(1,)), None),
            (tensor((13,), strides=(1,)), "too few for the tensor (13,) with strides (1,) at 0"),
            (tensor((12,), strides=(1,), offset=1), "too few for the tensor"),
            (tensor((2, 2), strides=(11, 1)), "too few for the tensor"),
            (tensor((1 << 62, 1 << 62), strides=(0, 0)), "shape beyond all memory"),
            (tensor((1 << 40,), strides=(0,)), "repeated out of 48: save a contiguous copy"),
            (tensor((1 << 60, 0), strides=(1, 1)), None),
            (tensor((1 << 24,), strides=(0,)), None),
            (tensor(((1 << 24) + 1,), strides=(0,)), "repeated out of 48"),
            (tensor((1,) * 33, strides=(1,) * 33), "33 axes"),
            (tensor((12,), strides=()), "malformed shape"),
            (tensor((-12,), strides=(1,)), "malformed shape"),
            (tensor((12,), strides=(-1,), offset=11), "malformed shape"),
            (tensor((12,), strides=(1,), offset=-1), "malformed shape"),
            (tensor((True,), strides=(1,)), "malformed shape"),
            (tensor([12], strides=(1,)), "malformed shape"),
            (tensor((12,), strides=(1 << 63,)), "malformed shape"),
            (tensor((12,), strides=(1,), count=13), "has 48 bytes, its pickle says 52"),
            (tensor((12,), strides=(1,), count=-12), "malformed storage"),
            (tensor((12,), strides=(1,), count=True), "malformed storage"),
            (
                tensor((12,), strides=(1,), kind="torch.storage.UntypedStorage", count=48),
                "without a storage or dtype",
            ),
            (tensor((12,), strides=(1,), kind="torch.float32"), "malformed storage"),
            (
                call(V2, HELD, 0, *V2_ARGS, {"neg": True}),
                "negative bit is set: torch.save x.resolve_neg()",
            ),
            (
                call(V2, HELD, 0, *V2_ARGS, {"conj": True}),
                "conjugate bit is set: torch.save x.resolve_conj()",
            ),
            (call(V2, HELD, 0, *V2_ARGS, "x"), "malformed metadata"),
            (
                call(V2, HELD, 0, *V2_ARGS, None, None),
                "calls torch._utils._rebuild_tensor_v2 in an unusual way",
            ),
            (call(V3, HELD, 0, *V2_ARGS, "torch.float32"), "without a storage or dtype"),
            (call(V3, HELD, 0, *V2_ARGS, name("torch.FloatStorage")), "without a storage or dtype"),
            (call(V2, "storage", 0, *V2_ARGS), "without a storage or dtype"),
            (
                call("torch._utils._rebuild_parameter", 3, True, HOOKS),
                "a parameter that is not a tensor",
            ),
            (
                Code(pickled(("storage", name("torch.FloatStorage"), "0", "cpu")) + b"Q"),
                "refers to something",
            ),
            (Code(pickled("0") + b"Q"), "refers to something that is not a storage"),
            (storage("torch.FloatStorage", "1", 12), "has no arrays in it"),
            (
                call(V2, storage("torch.FloatStorage", "../version", 12), 0, *V2_ARGS),
                "lacks the storage",
            ),
            (
                call("collections.OrderedDict", [("a", 1)]),
                "calls collections.OrderedDict in an unusual way",
            ),
            (Code(name("torch.float32") + b")R"), "calls torch.float32 in an unusual way"),
            (Code(pickled("os.system") + b")R"), "calls what is a str in an unusual way"),
        ],
    )
    def test_tensors(self, tmp_path: Path, root: Code, text: str | None) -> None:
        if text is None:
            load(file_of(tmp_path, root)).array()
        else:
            assert text in refusal(file_of(tmp_path, root))

    @pytest.mark.parametrize(
        ("code", "text"),
        [
            (b"\x80\x02}.", "has no arrays in it"),
            (b"", "of a protocol before 2"),
            (b"}.", "of a protocol before 2"),
            (b"\x80\x01}.", "protocol 1; 2 to 5 are known"),
            (b"\x80\x06}.", "protocol 6"),
            (b"\x80\x02}", "its pickle is malformed: "),
            (b"\x80\x02.", "too little on its stack"),
            (b"\x80\x02(0.", "too little on its stack"),
            (b"\x80\x02t.", "a mark is missing"),
            (b"\x80\x02]]\x86a.", "fills no list"),
            (b"\x80\x02]\x86.", "too little on its stack"),
            (b"\x80\x02](\x85.", "too little on its stack"),
            (b"\x80\x02}(NNNu.", "malformed pickle (ValueError)"),
            (b"\x80\x02}]Ns.", "a key of type list"),
            (b"\x80\x02}" + b")" + b"\x85" * 2000 + b"Ns.", "a key of type tuple"),
            (b"\x80\x02}(" + b"N" * 2000 + b"tNs.", "a key of type tuple"),
            (b"\x80\x02}]\x85Ns.", "a key of type tuple"),
            (b"\x80\x02h\x01.", "recalls what it never had"),
            (b"\x80\x02X\xff\xff\xff\xffabc.", "its pickle is malformed: "),
            (b"\x80\x02\x8e\xff\xff\xff\xff\xff\xff\xff\xffabc.", "its pickle is malformed: "),
            (b"\x80\x02b.", "too little on its stack"),
            (b"\x80\x02Nb.", "fills no dict"),
            (b"\x80\x02]Nb.", "fills no dict"),
            (b"\x80\x02cos\n", "its pickle is malformed: "),
            (b"\x80\x02NN\x93.", "a name is not text"),
            (b"\x80\x02" + b"]" * 1_300_000 + b".", "has more than"),
            (b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".", "nests too deeply"),
            (b"\x80\x02]q\x00h\x00a.", "nests too deeply"),
            (b"\x80\x02]q\x00" + b"](h\x00h\x00eq\x00" * 60 + b".", "nests too deeply"),
            (
                b"\x80\x02}(X\x58\x02\x00\x00"
                + b"k" * 600
                + b"}(X\x58\x02\x00\x00"
                + b"k" * 600
                + b"]uu.",
                "nests too deeply",
            ),
        ],
    )
    def test_pickles(self, tmp_path: Path, code: bytes, text: str) -> None:
        path = put(tmp_path / "x.pt", archive({"x/data.pkl": code, "x/version": b"3"}))
        assert text in refusal(path)

    def test_a_recall_far_away_takes_no_memory(self, tmp_path: Path) -> None:
        """Python's own unpickler makes room for every number below it."""
        code = b"\x80\x02Nr\xff\xff\xff\xff0}."
        assert "has no arrays in it" in refusal(
            put(tmp_path / "x.pt", archive({"x/data.pkl": code}))
        )

    def test_archives_of_another_layout(self, tmp_path: Path) -> None:
        good = b"\x80\x02" + tensor((12,), strides=(1,)) + b"."
        for members, text in [
            ({"x/data.pkl": good}, "lacks the storage 0"),
            ({"x/data.pkl": good, "y/data.pkl": good}, "it needs one data.pkl"),
            ({"x/y/data.pkl": good}, "it needs one data.pkl"),
            ({"x/data.pkl": good, "x/constants.pkl": b""}, "is a TorchScript program"),
            (
                {"x/data.pkl": good, "x/byteorder": b"little" * 9},
                "has a x/byteorder of 54 bytes; 16 are allowed",
            ),
            ({"data.pkl": good}, "has no arrays in it"),
        ]:
            assert text in refusal(put(tmp_path / "x.pt", archive(members)))
        assert "is not a zip archive as torch.save has written" in refusal(
            put(tmp_path / "x.pt", b"\x80\x02}.")
        )


WAY_OUT = "; save tensors only, as torch.save({'x': x}, path)"


class TestRefused:
    @pytest.mark.parametrize(
        "wanted",
        [
            "os.system",
            "posix.system",
            "builtins.eval",
            "builtins.getattr",
            "torch.load",
            "numpy.load",
            "torch.nn.Linear",
            "collections.OrderedDict.pop",
            "collections.defaultdict",
            "torch._utils._import_dotted_name",
            "functools.partial",
            "torch.storage._load_from_bytes",
            "_codecs.decode",
            "copyreg._reconstructor",
            "__builtin__.eval",
            "a b.c\td",
        ],
    )
    def test_names(self, tmp_path: Path, wanted: str) -> None:
        module, _, last = wanted.rpartition(".")
        shown = wanted.encode("unicode_escape").decode()
        for looked_up in (name(wanted), Code(pickled(module) + pickled(last) + b"\x93")):
            for root in (
                looked_up,
                Code(looked_up + pickled(("true",)) + b"R"),
                {"a": [looked_up]},
            ):
                text = refusal(file_of(tmp_path, root))
                assert text == f"refused: the file asks for {shown}{WAY_OUT}"

    @pytest.mark.needs("torch")
    def test_exactly_these_names_are_allowed(self) -> None:
        """What torch has by itself, but its old classes of tensors; of one function what is here."""
        import torch

        theirs = torch._weights_only_unpickler._get_allowed_globals()
        theirs = {name for name in theirs if not re.fullmatch(r"torch\..*\wTensor", name)}
        assert theirs | {NPU, "torch.nn.parameter.Buffer"} == machine.ALLOWED

    @pytest.mark.parametrize("protocol", [2, 3, 4, 5])
    def test_what_python_would_run_is_not_run(self, tmp_path: Path, protocol: int) -> None:
        trap = tmp_path / "trap"

        class Trap:
            def __reduce__(self) -> tuple[Any, ...]:
                return os.mkdir, (str(trap),)

        code = pickle.dumps({"a": [Trap()]}, protocol)
        text = refusal(put(tmp_path / "x.pt", archive({"x/data.pkl": code})))
        assert text == f"refused: the file asks for posix.mkdir{WAY_OUT}"
        assert not trap.exists()
        pickle.loads(code)
        assert trap.exists()

    @pytest.mark.parametrize(
        "code", [b"cos\nsystem\n(S'true'\no", b"(S'true'\nios\nsystem\n", b"\x82\x01", b"P1\n"]
    )
    def test_operations(self, tmp_path: Path, code: bytes) -> None:
        text = refusal(put(tmp_path / "x.pt", archive({"x/data.pkl": b"\x80\x02" + code + b"."})))
        assert text.startswith(("refused: its pickle has operation b", "refused: the file asks"))
        assert text.endswith(WAY_OUT)

    def test_getting_attributes_by_a_chain(self, tmp_path: Path) -> None:
        chain = Code(pickled("torch") + pickled("_utils.os.system") + b"\x93")
        asked = "refused: the file asks for torch._utils.os.system"
        assert refusal(file_of(tmp_path, chain)) == asked + WAY_OUT
        built = Code(HOOKS + pickled({"__setstate__": 1, "__class__": 2}) + b"b")
        assert "has no arrays in it" in refusal(file_of(tmp_path, built))
