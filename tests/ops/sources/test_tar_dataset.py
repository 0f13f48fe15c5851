"""`TarDataset`: samples of tar files."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import DataLossError, InvalidArgumentError, NotFoundError

Members = list[tuple[str, bytes]]


def write(path: Path, members: Members, mode: str = "w", form: int = tarfile.GNU_FORMAT) -> str:
    with tarfile.open(path, mode, format=form) as tar:  # type: ignore[call-overload]
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            if name.endswith("/"):
                member.type = tarfile.DIRTYPE
            tar.addfile(member, io.BytesIO(data))
    return str(path)


def members(start: int, stop: int) -> Members:
    return [(f"d/{i:03}.{e}", e.encode() * i) for i in range(start, stop) for e in ("jpg", "cls")]


def samples(start: int, stop: int) -> list[dict[str, bytes]]:
    return [{"__key__": b"d/%03d" % i, "jpg": b"jpg" * i, "cls": b"cls" * i} for i in range(start, stop)]


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_samples(tmp_path: Path, form: int) -> None:
    ds = fl.TarDataset(write(tmp_path / "a.tar", members(0, 9), form=form))
    assert type(ds) is fl.TarDataset and ds.cardinality() == fl.UNKNOWN_CARDINALITY
    assert ds.element_spec == dict.fromkeys(("__key__", "jpg", "cls"), fl.TensorSpec([], fl.string))
    check(ds, samples(0, 9))


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tgz"])
def test_compressed(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, members(0, 9), "w:gz")
    check(fl.TarDataset(path), samples(0, 9))
    other = str(Path(path).rename(tmp_path / "other"))
    check(fl.TarDataset(other, compression_type="GZIP"), samples(0, 9), sizes=(2, None), optimizer=[True])


def test_several_files_in_turn_and_from_a_dataset(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{i}.tar", members(3 * i, 3 * i + 3)) for i in range(3)]
    check(fl.TarDataset(files), samples(0, 9))
    turns = [samples(0, 9)[i] for i in (0, 3, 1, 4, 2, 5, 6, 7, 8)]
    check(fl.TarDataset(files, num_parallel_reads=2), turns)
    names = fl.Dataset.list_files(str(tmp_path / "*.tar"), shuffle=False)
    check(fl.TarDataset(names, extensions=[".JPG", "cls"]), samples(0, 9), sizes=(7,), optimizer=[True])


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_names(tmp_path: Path, form: int) -> None:
    long = "folder.with.dots/" + "x" * 200
    path = write(
        tmp_path / "a",
        [
            ("folder.with.dots/", b""),
            (f"{long}.TXT", b"1"),
            ("README", b"no sample"),
            (".hidden.txt", b"neither"),
            (f"{long}.seg.png", b"2"),
            ("é.txt", b"3"),
            ("é.seg.png", b""),
        ],
        form=form,
    )
    expect = [
        {"__key__": long.encode(), "txt": b"1", "seg.png": b"2"},
        {"__key__": "é".encode(), "txt": b"3", "seg.png": b""},
    ]
    check(fl.TarDataset(path), expect)
    check(fl.TarDataset(path, ["seg.png"]), [{k: e[k] for k in ("__key__", "seg.png")} for e in expect])


def test_large_files_come_whole(tmp_path: Path) -> None:
    data = [bytes([i]) * 3_000_000 for i in range(3)]
    path = write(tmp_path / "a.tar", [(f"{i}.bin", d) for i, d in enumerate(data)])
    assert [s["bin"] for s in fl.TarDataset(path)] == data
    assert [s["bin"] for s in fl.TarDataset(path, buffer_size=1000)] == data


def test_samples_that_are_not_alike(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.tar",
        [("0.a", b"0"), ("0.b", b"0"), ("1.a", b"1"), ("2.b", b"2"), ("2.a", b"2"), ("3.a", b"3"), ("3.b", b"3"),
         ("3.c", b"3"), ("4.a", b"4"), ("4.a", b"4"), ("4.b", b"4"), ("5.b", b"5"), ("5.a", b"5")],
    )  # fmt: skip
    whole = {i: {"__key__": b"%d" % i, "a": b"%d" % i, "b": b"%d" % i} for i in range(6)}
    lacks = Raises(InvalidArgumentError, r"a.tar, sample '1' \(byte 2048\): it has no file 'b', only \['a'\]")
    strange = Raises(InvalidArgumentError, r"sample '3' .*a file 'c', which the first sample does not have; list")
    twice = Raises(InvalidArgumentError, r"sample '4' .*the file 'a' is repeated")
    check_errors(fl.TarDataset(path), [whole[0], lacks, whole[2], strange, twice, whole[5]])
    check_errors(fl.TarDataset(path, ["a", "b"]), [whole[0], lacks, whole[2], whole[3], twice, whole[5]])
    filled = {"__key__": b"1", "a": b"1", "b": b"-"}
    ds = fl.TarDataset(path, ["a", "b"], missing="-")
    check_errors(ds, [whole[0], filled, whole[2], whole[3], twice, whole[5]])


def test_bad_files(tmp_path: Path) -> None:
    good = write(tmp_path / "good.tar", members(0, 4))
    data = Path(good).read_bytes()
    end = 4 * 2 * 1024 - 512 - 512  # the first sample's files have no bytes
    damaged = bytearray(data)
    damaged[2 * 512 + 10] ^= 1
    for name, contents in [
        ("cut", data[: end - 100]),
        ("unfinished", data[:end]),
        ("empty", b""),
        ("text", b"this is no tar file" * 100),
        ("damaged", bytes(damaged)),
    ]:
        bad = tmp_path / name
        bad.write_bytes(contents)
        before = {"cut": samples(0, 3), "unfinished": samples(0, 3), "damaged": []}.get(name, [])
        ds = fl.TarDataset([good, str(bad), good])
        lost = Raises(DataLossError, rf"{name}, byte \d+: not a tar member, or truncated")
        check_errors(ds, [*samples(0, 4), *before, lost, *samples(0, 4)], sizes=(1, 7, None), optimizer=[True])
    for name in ("empty", "text"):
        with pytest.raises(DataLossError, match=name):
            fl.TarDataset(tmp_path / name)
    with pytest.raises(NotFoundError, match="nope"):
        fl.TarDataset(tmp_path / "nope")
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(Path(write(tmp_path / "a.tar.gz", members(0, 40), "w:gz")).read_bytes()[:-60])
    it = iter(fl.TarDataset(cut))
    with pytest.raises(DataLossError, match=r"cut\.tar\.gz"):
        while True:
            next(it)
    it.close()


def test_hostile_headers(tmp_path: Path) -> None:
    def header(**about: Any) -> bytes:
        member = tarfile.TarInfo("x.a")
        for name, value in about.items():
            setattr(member, name, value)
        return member.tobuf(tarfile.GNU_FORMAT)

    for name, contents in {
        "huge": header(size=1 << 62),
        "long name": header(type=tarfile.GNUTYPE_LONGNAME, size=1 << 40),
        "sparse": header(type=tarfile.GNUTYPE_SPARSE),
        "records": header(type=tarfile.XHDTYPE, size=20) + b"99 path=x\n".ljust(512, b"\0") + header(),
        "digits": header(type=tarfile.XHDTYPE, size=20) + b"3 =\n".ljust(512, b"\0") + header(),
        "minus": header(type=tarfile.XHDTYPE, size=11) + b"11 size=-5\n".ljust(512, b"\0") + header(),
    }.items():
        path = tmp_path / name
        path.write_bytes(contents + bytes(1024))
        with pytest.raises(DataLossError, match=name):
            fl.TarDataset(path)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"filenames": []}, InvalidArgumentError, "no sample in an empty list"),
        ({"filenames": fl.Dataset.from_tensor_slices(["a"])}, InvalidArgumentError, "requires extensions"),
        ({"extensions": "a"}, InvalidArgumentError, "extensions must be a non-empty list"),
        ({"extensions": []}, InvalidArgumentError, "non-empty list of str"),
        ({"extensions": ["a", ".A"]}, InvalidArgumentError, "must be distinct"),
        ({"missing": 3}, TypeError, "missing must be bytes"),
        ({"compression_type": "LZ4"}, InvalidArgumentError, "compression_type must be"),
        ({"num_parallel_reads": 0}, InvalidArgumentError, "num_parallel_reads must be"),
        ({"buffer_size": "x"}, TypeError, "buffer_size must be an integer"),
    ],
)
def test_arguments(tmp_path: Path, arguments: dict[str, Any], error: type[Exception], match: str) -> None:
    path = write(tmp_path / "a.tar", members(0, 1))
    with pytest.raises(error, match=match):
        fl.TarDataset(**{"filenames": path, **arguments})
    empty = write(tmp_path / "empty.tar", [])
    with pytest.raises(InvalidArgumentError, match=r"no sample in .*empty\.tar"):
        fl.TarDataset(empty)
    check(fl.TarDataset([empty, path]), samples(0, 1), sizes=(1,), optimizer=[True])


def test_elsewhere(tmp_path: Path) -> None:
    fl.io.gfile.copy(write(tmp_path / "a.tar", members(0, 9)), "memory://tar/a.tar", overwrite=True)
    check(fl.TarDataset("memory://tar/a.tar"), samples(0, 9), sizes=(7,), optimizer=[True])
    fl.io.gfile.rmtree("memory://tar")
