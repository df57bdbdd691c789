"""Arrays in NumPy's files and what all kinds of files have in common."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from golden_files import archive, check, npy, npy_by_hand, put, refusal, some

from npu_quant.files import FileError, list_arrays, load
from npu_quant.files.zipped import Unpacked

PLAIN = ["bool", "float16", "float32", "float64"]
PLAIN += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")
SHAPES = [(), (0,), (3, 0, 2), (1,), (7,), (2, 3), (3, 1, 4), (2, 3, 2, 5)]


class TestNpy:
    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("dtype", PLAIN)
    def test_every_dtype_and_shape(self, tmp_path: Path, dtype: str, shape: tuple) -> None:
        x = some(shape, dtype)
        for order in "CF":
            path = put(tmp_path / "x.npy", npy(np.asarray(x, order=order)))
            with load(path) as actual:
                check(actual, x)
        assert list_arrays(path) == [("", dtype, shape)]

    @pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
    def test_every_version(self, tmp_path: Path, version: tuple) -> None:
        x = some((2, 5), "float32")
        check(load(put(tmp_path / "x.npy", npy(x, version))), x)

    @pytest.mark.parametrize("dtype", [d for d in PLAIN if np.dtype(d).itemsize > 1])
    @pytest.mark.parametrize("order", "CF")
    def test_the_other_byte_order_is_turned(self, tmp_path: Path, dtype: str, order: str) -> None:
        x = some((3, 4), dtype)
        path = put(
            tmp_path / "x.npy", npy(np.asarray(x.astype(x.dtype.newbyteorder(">")), order=order))
        )
        check(load(path), x)
        assert x.tobytes() not in path.read_bytes()

    def test_a_header_of_python_2_and_one_in_another_order(self, tmp_path: Path) -> None:
        for header in (
            "{'descr': '<i2', 'fortran_order': False, 'shape': (2L, 1L)}\n",
            '{"shape":(2,1),"descr":"<i2","fortran_order":False,}',
        ):
            path = put(tmp_path / "x.npy", npy_by_hand(header, b"\x01\x00\x02\x00"))
            assert load(path).array().tolist() == [[1], [2]]

    @pytest.mark.parametrize(
        ("header", "data", "text"),
        [
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 12, None),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
                11,
                "has 11 bytes of elements; its header says 12",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
                13,
                "has 13 bytes of elements; its header says 12",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967299), }",
                12,
                "shape beyond all memory",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807), }",
                0,
                "shape beyond all memory",
            ),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", 12, "malformed header"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3.0,), }", 12, "malformed header"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': 3, }", 12, "malformed header"),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (3), }",
                12,
                "its shape is not a tuple",
            ),
            ("{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }", 12, "malformed header"),
            (
                "{'descr': '<f4', 'fortran_order': False, }",
                12,
                "it has the keys descr, fortran_order",
            ),
            (
                "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
                12,
                "twice",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'x': False}",
                12,
                "it has the keys",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 4000,
                12,
                "malformed header",
            ),
            ("__import__('os').system('touch x')", 12, "it is not a dict"),
            (
                "{'descr': __import__('os'), 'fortran_order': False, 'shape': (3,)}",
                12,
                "malformed header",
            ),
            (
                "{'descr': '<f3', 'fortran_order': False, 'shape': (4,), }",
                12,
                "has dtype <f3, which is not one of numbers",
            ),
            ("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8, "has dtype <c8"),
            ("{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }", 16, "has dtype <f16"),
            ("{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }", 12, "has dtype <U3"),
            (
                "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }",
                12,
                "has dtype [('a', '<f4')]",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1," * 33 + "), }",
                4,
                "33 axes",
            ),
            ("", 12, "it is not a dict"),
        ],
    )
    def test_headers(self, tmp_path: Path, header: str, data: int, text: str | None) -> None:
        path = put(tmp_path / "x.npy", npy_by_hand(header, bytes(data)))
        if text is None:
            check(load(path), np.zeros(3, np.float32))
        else:
            assert text in refusal(path)

    def test_magic_version_and_length(self, tmp_path: Path) -> None:
        whole = npy(np.zeros(3, np.float32))
        for data, text in [
            (b"", "does not begin as a .npy file does"),
            (b"\x93NUMPX" + whole[6:], "does not begin as a .npy file does"),
            (b"\x93NUMPY\x04\x00" + whole[8:], "is .npy of version 4.0; 1.0 to 3.0 are known"),
            (b"\x93NUMPY\x01\x01" + whole[8:], "is .npy of version 1.1"),
            (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + whole[10:], "a header of 4294967295 bytes"),
            (b"\x93NUMPY\x02\x00\x10\x00", "is cut short in its header"),
            (b"\x93NUMPY\x02\x00\x00\x00\x00\x00", "malformed header: it is not a dict"),
        ]:
            assert text in refusal(put(tmp_path / "x.npy", data))

    def test_the_most_that_is_allowed(self, tmp_path: Path) -> None:
        x = np.zeros((1,) * 32, np.int8)
        check(load(put(tmp_path / "x.npy", npy(x))), x)
        text = "{'descr': '|i1', 'fortran_order': False, 'shape': (0, 9223372036854775807), }"
        path = put(tmp_path / "x.npy", npy_by_hand(text))
        assert load(path).array().shape == (0, (1 << 63) - 1)
        head = b"{'descr': '|i1', 'fortran_order': False, 'shape': (1,), }".ljust(1 << 16)
        for more, allowed in [(b"", True), (b" ", False)]:
            length = (len(head) + len(more)).to_bytes(4, "little")
            put(path, b"\x93NUMPY\x02\x00" + length + head + more + b"\x05")
            if allowed:
                assert load(path).array().tolist() == [5]
            else:
                assert "a header of 65537 bytes, too long" in refusal(path)

    def test_objects_are_refused_and_no_code_runs(self, tmp_path: Path) -> None:
        trap = tmp_path / "trap"

        class Trap:
            def __reduce__(self) -> tuple[Any, ...]:
                return os.mkdir, (str(trap),)

        np.save(tmp_path / "x.npy", np.array([Trap()], dtype=object), allow_pickle=True)
        assert "has dtype object, which is pickled" in refusal(tmp_path / "x.npy")
        assert list_arrays(tmp_path / "x.npy")[0][1] == "object, which is pickled"
        assert not trap.exists()
        np.load(tmp_path / "x.npy", allow_pickle=True)
        assert trap.exists()


class TestDtypes:
    @pytest.mark.parametrize("dtype", ["bfloat16", *FLOAT8])
    @pytest.mark.parametrize("order", "CF")
    def test_what_numpy_saves_without_a_name(self, tmp_path: Path, dtype: str, order: str) -> None:
        x = some((3, 5), dtype)
        path = put(tmp_path / "x.npy", npy(np.asarray(x, order=order)))
        if dtype in ("bfloat16", "float8_e5m2"):  # as nothing else is saved
            check(load(path), x)
        else:
            assert "V1, as float8 is saved by NumPy: say which with dtype=" in refusal(path)
            assert list_arrays(path)[0][1] == "V1"
        for way in (dtype, f"torch.{dtype}", getattr(ml_dtypes, dtype), np.dtype(dtype)):
            check(load(path, dtype=way), x)

    @pytest.mark.parametrize(
        ("short", "dtype"),
        [
            ("bf16", "bfloat16"),
            ("fp16", "float16"),
            ("half", "float16"),
            ("i2", None),
            ("int16", "int16"),
            ("uint16", "uint16"),
            (np.uint16, "uint16"),
            ("FP32", None),
            ("int4", None),
            ("nonsense\n", None),
            (2, "int16"),
            ("fp8_e4m3", None),
        ],
    )
    def test_two_bytes_seen_as(self, tmp_path: Path, short: Any, dtype: str | None) -> None:
        """As what has two bytes, by any name of it."""
        x = some((3, 5), "uint16")
        path = put(tmp_path / "x.npy", npy(x))
        if dtype is not None:
            check(load(path, dtype=short), x.view(dtype))
        else:
            text = refusal(path, dtype=short)
            assert "cannot be seen as" in text or "is not known" in text or "int4 is packed" in text

    @pytest.mark.parametrize("dtype", ["fp8_e4m3", "fp8_e5m2", "fp8_e8m0", "hif8", "fp4_e2m1"])
    def test_one_byte_seen_as(self, tmp_path: Path, dtype: str) -> None:
        names = {
            "fp8_e4m3": "float8_e4m3fn",
            "fp8_e5m2": "float8_e5m2",
            "fp8_e8m0": "float8_e8m0fnu",
        }
        x = some((3, 5), "uint8")
        check(load(put(tmp_path / "x.npy", npy(x)), dtype=dtype), x.view(names.get(dtype, "uint8")))

    def test_int4_of_words_begins_in_the_lowest_bits(self, tmp_path: Path) -> None:
        words = np.array([[0x76543210], [-0x1234568]], np.int32)
        path = put(tmp_path / "x.npy", npy(words))
        check(
            load(path, dtype="int4"),
            np.array([[0, 1, 2, 3, 4, 5, 6, 7], [-8, -7, -6, -5, -4, -3, -2, -1]], np.int8),
        )

    def test_int4_of_bytes_and_of_single_values(self, tmp_path: Path) -> None:
        for dtype in (np.uint8, np.int8):
            path = put(tmp_path / "x.npy", npy(np.array([0x10, 0xF8, 0x7F], np.uint8).view(dtype)))
            check(load(path, dtype="int4"), np.array([0, 1, -8, -1, -1, 7], np.int8))
        single = np.arange(-8, 8).astype(ml_dtypes.int4)
        check(
            load(put(tmp_path / "x.npy", npy(single)), dtype="int4"),
            np.arange(-8, 8, dtype=np.int8),
        )
        assert "int4 is packed in" in refusal(
            put(tmp_path / "x.npy", npy(np.zeros(2, np.int64))), dtype="int4"
        )
        assert "without axes" in refusal(
            put(tmp_path / "x.npy", npy(np.array(3, np.int32))), dtype="int4"
        )

    @pytest.mark.parametrize("order", "CF")
    @pytest.mark.parametrize("end", "<>")
    def test_int4_of_any_layout(self, tmp_path: Path, order: str, end: str) -> None:
        words = some((3, 2), "int32")
        codes = words.view(np.uint8).reshape(3, 8)
        expected = np.stack([codes & 15, codes >> 4], -1).reshape(3, 16).astype(np.int8)
        expected = np.where(expected > 7, expected - 16, expected).astype(np.int8)
        x = np.asarray(words.astype(words.dtype.newbyteorder(end)), order=order)
        check(load(put(tmp_path / "x.npy", npy(x)), dtype="int4"), expected)

    def test_what_names_no_dtype_is_a_type_error(self, tmp_path: Path) -> None:
        path = put(tmp_path / "x.npy", npy(np.zeros(2, np.int16)))
        with pytest.raises(TypeError, match=r"^dtype has type float, expected an int code"):
            load(path, dtype=1.5)  # type: ignore[arg-type]


def by_blocks(path: Path, size: int) -> None:
    """Read an array in order, 7 elements at a time."""
    with load(path) as actual:
        for begin in range(0, size + 1, 7):
            actual.read(begin, min(begin + 7, size))


class TestNpz:
    @pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    def test_arrays_by_key(self, tmp_path: Path, method: int) -> None:
        arrays = {f"{d}_{o}": np.asarray(some((3, 4), d), order=o) for d in PLAIN for o in "CF"}
        members = {f"{key}.npy": npy(x) for key, x in arrays.items()} | {"notes.txt": b"no array"}
        path = put(tmp_path / "x.npz", archive(members, method))
        for key, x in arrays.items():
            check(load(path, key=key), x)
        assert list_arrays(path) == [(key, x.dtype.name, x.shape) for key, x in arrays.items()]
        check(load(path, key="int8_C.npy"), arrays["int8_C"])
        known = "bool_C, bool_F, float16_C, float16_F, float32_C, float32_F, float64_C, float64_F"
        known += " and 16 more"
        assert refusal(path) == f"has 24 arrays; choose one by its key: {known}"
        assert refusal(path, key="int9") == f"has no array 'int9'; it has {known}"

    def test_one_array_needs_no_key(self, tmp_path: Path) -> None:
        x = some((2, 3), "float32")
        np.savez(tmp_path / "x.npz", x)
        check(load(tmp_path / "x.npz"), x)
        np.savez_compressed(tmp_path / "x.npz", y=x)
        check(load(tmp_path / "x.npz", key="y"), x)
        assert "has no arrays in it" in refusal(put(tmp_path / "x.npz", archive({})))
        assert "has no arrays in it" in refusal(put(tmp_path / "x.npz", archive({"x": b"1"})))

    @pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    @pytest.mark.parametrize("shape", [(40, 5), (0, 5)])
    def test_a_wrong_sum(self, tmp_path: Path, method: int, shape: tuple) -> None:
        member = npy(np.zeros(shape, np.float32))
        good = archive({"x.npy": member}, method)
        crc = zipfile.crc32(member).to_bytes(4, "little")
        assert good.count(crc) == 2
        check(load(put(tmp_path / "x.npz", good)), np.zeros(shape, np.float32))
        path = put(tmp_path / "x.npz", good.replace(crc, b"\x01\x02\x03\x04"))
        assert "CRC-32" in refusal(path)
        with pytest.raises(FileError, match="CRC-32"):
            by_blocks(path, 5 * shape[0])

    @pytest.mark.parametrize(
        ("said", "text"),
        [
            (128 + (1 << 20), None),
            (64 << 20, "has 67108736 bytes of elements; its header says 1048576"),
            ((64 << 20) + 1, "unpack to 67108865: refused"),
            (0xFFFFFFF0, "unpack to 4294967280: refused"),
        ],
    )
    def test_a_bomb(self, tmp_path: Path, said: int, text: str | None) -> None:
        member = npy(np.zeros(1 << 20, np.uint8))
        data = archive({"x.npy": member}, zipfile.ZIP_DEFLATED)
        size = len(member).to_bytes(4, "little")
        assert data.count(size) == 2
        path = put(tmp_path / "x.npz", data.replace(size, said.to_bytes(4, "little")))
        if text is None:
            assert not load(path).array().any()
        else:
            assert text in refusal(path)

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            (0, None),
            (-1, "x.npy ends after 227 of 228"),
            (1, "x.npy has a wrong CRC-32"),
            (10**6, "x.npy has a wrong CRC-32"),
        ],
    )
    def test_a_size_that_is_not_what_comes_out(
        self, tmp_path: Path, change: int, text: str
    ) -> None:
        member = npy(np.zeros(100, np.uint8))
        packed = member[:128] + bytes(100 + change)
        data = archive({"x.npy": packed}, zipfile.ZIP_DEFLATED)
        size = len(packed).to_bytes(4, "little")
        assert data.count(size) == 2
        path = put(tmp_path / "x.npz", data.replace(size, (228).to_bytes(4, "little")))
        if text is None:
            check(load(path), np.zeros(100, np.uint8))
        else:
            assert text in refusal(path)

    def test_a_stored_member_of_two_sizes(self, tmp_path: Path) -> None:
        data = bytearray(archive({"x.npy": npy(np.zeros(100, np.uint8))}))
        data[data.index(b"PK\x01\x02") + 24] -= 1
        assert "x.npy is stored, yet has two sizes" in refusal(put(tmp_path / "x.npz", bytes(data)))

    def test_what_is_read_in_order_is_unpacked_once(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        begun = []
        restart = Unpacked._restart
        monkeypatch.setattr(Unpacked, "_restart", lambda self: (begun.append(1), restart(self)))
        path = put(tmp_path / "x.npz", archive({"x.npy": npy(np.arange(70))}, zipfile.ZIP_DEFLATED))
        by_blocks(path, 70)
        assert len(begun) == 1
        load(path).read(0, 3)
        assert len(begun) == 2

    def test_members_that_are_not_as_the_directory_says(self, tmp_path: Path) -> None:
        good = archive({"x.npy": npy(np.zeros(3, np.int8)), "y.npy": npy(np.zeros(3, np.int8))})
        path = tmp_path / "x.npz"
        for data, text in [
            (good.replace(b"x.npy", b"z.npy", 1), "x.npy has another name where it stands"),
            (
                good.replace(b"PK\x03\x04", b"PK\x03\x05", 1),
                "x.npy is not where the archive's directory",
            ),
            (good.replace(b"y.npy", b"x.npy"), "has two members named x.npy"),
            (good[:-30], "is not a zip archive or a damaged one"),
        ]:
            assert text in refusal(put(path, data), key="x")
        coded = bytearray(good)
        coded[good.index(b"PK\x01\x02") + 8] |= 1
        assert "x.npy is encrypted" in refusal(put(path, bytes(coded)), key="x")
        other = archive({"x.npy": npy(np.zeros(3, np.int8))}, zipfile.ZIP_LZMA)
        assert "is compressed by method 14; deflate is known" in refusal(put(path, other))
