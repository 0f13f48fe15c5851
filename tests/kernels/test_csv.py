"""Fields of CSV records: the kernel and its twin say the same of everything, also of what is hostile."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedline import kernels
from feedline.kernels import reference_csv

BOTH = pytest.mark.parametrize("kernel", [kernels, reference_csv], ids=["kernels", "reference"])
COMMA = ord(",")
ALL = (np.empty(0, np.uint8), True)


def kinds(*numbers: int) -> Any:
    return np.array(numbers, np.uint8)


def plain(result: tuple[Any, ...]) -> list[Any]:
    """With arrays as their dtype, bits and strings, so that NaN equals NaN."""
    columns, *rest = result
    for column in columns:
        if column.dtype.kind == "f":
            column[np.isnan(column)] = np.nan  # its sign and payload are nobody's business
    shown = [(c.dtype.str, c.tolist() if c.dtype == object else c.tobytes()) for c in columns]
    return [shown, *(r.tolist() if isinstance(r, np.ndarray) else r for r in rest)]


@BOTH
def test_strings(kernel: ModuleType) -> None:
    records = [b'1.5,"a ""b""",7', b"\r\n,x,", b"NA,NA,NA"]
    got = kernel.csv_strings(records, COMMA, True, b"NA", kinds(1, 5, 4), [0.25, b"none", -1], *ALL)
    assert [c.tolist() for c in got[0]] == [[1.5, 0.25, 0.25], [b'a "b"', b"x", b"none"], [7, -1, -1]]
    assert [c.dtype.name for c in got[0]] == ["float32", "object", "int64"] and got[1:] == (0, 0, b"")


@BOTH
def test_strings_in_one_buffer_or_an_array(kernel: ModuleType) -> None:
    form = COMMA, True, b"", kinds(5, 3), [None, 0], *ALL
    records = [b"x,1", b'"a, b",', b"y"]
    listed = plain(kernel.csv_strings(records, *form))
    offsets = np.array([2, 6, 14, 16])
    assert plain(kernel.csv_strings(np.array(records, object), *form)) == listed
    assert plain(kernel.csv_strings((b"??" + b"\n".join(records) + b"\n?", offsets, 1), *form)) == listed
    for wrong in ((b"x", offsets, 1), (b"x,1", np.array([3, 0]), 0)):
        with pytest.raises(IndexError):
            kernel.csv_strings(wrong, *form)
    for strange in (b"x,1", np.array([1]), [1], np.array([None])):
        with pytest.raises(TypeError, match="a record must be bytes"):
            kernel.csv_strings(strange, *form)


@BOTH
@pytest.mark.parametrize(
    ("record", "stop"),
    [
        (b'a"b,1', (2, 0, b"")),
        (b"a\nb,1", (2, 0, b"")),
        (b'"a"b,1', (3, 0, b"")),
        (b'"a,1', (4, 0, b"")),
        (b'"', (4, 0, b"")),
        (b"a", (5, 1, b"")),
        (b"", (5, 0, b"")),
        (b"a,1,", (5, 3, b"")),
        (b"a,", (6, 1, b"")),
        (b"a,2147483648", (7, 1, b"2147483648")),
        (b'a,"1""2"', (7, 1, b'1"2')),
    ],
)
def test_strings_up_to_a_bad_one(kernel: ModuleType, record: bytes, stop: tuple[int, int, bytes]) -> None:
    got = kernel.csv_strings([b"x,1", b"y,2", record, b"z,3"], COMMA, True, b"", kinds(5, 3), [b"", None], *ALL)
    assert [c.tolist() for c in got[0]] == [[b"x", b"y"], [1, 2]] and got[1:] == stop


@BOTH
def test_wanted_fields(kernel: ModuleType) -> None:
    one = np.array([0, 1], np.uint8), False
    got = kernel.csv_strings([b'x,1,"what'], COMMA, True, b"", kinds(3), [None], *one)
    assert got[0][0].tolist() == [1] and got[1] == 0  # what comes after is not looked at
    got = kernel.csv_records(b'x,1,y\nx,2\n3\n', 0, 9, True, COMMA, True, b"", kinds(3), [None], *one)
    assert got[0][0].tolist() == [1, 2] and got[1].tolist() == [6, 10] and got[2:] == (5, 0, b"", 12)
    but_one = np.array([1, 0, 1], np.uint8), True
    got = kernel.csv_records(b"1,x,2\n1,x,2,3\n", 0, 9, True, COMMA, True, b"", kinds(3, 3), [0, 0], *but_one)
    assert [c.tolist() for c in got[0]] == [[1], [2]] and got[2:] == (5, 3, b"", 14)


@BOTH
def test_records(kernel: ModuleType) -> None:
    data = b'1,a\r\n2,"b\n""c"\r3,\n\n'
    got = kernel.csv_records(data, 0, 3, True, COMMA, True, b"", kinds(2, 5), [None, b"-"], *ALL)
    assert [c.tolist() for c in got[0]] == [[1, 2, 3], [b"a", b'b\n"c', b"-"]]
    assert got[1].tolist() == [5, 15, 18] and got[2:] == (0, 0, b"", 18)
    got = kernel.csv_records(data, 18, 3, True, COMMA, True, b"", kinds(2, 5), [None, b"-"], *ALL)
    assert not len(got[1]) and got[2:] == (5, 1, b"", 19)


@BOTH
def test_records_that_may_go_on(kernel: ModuleType) -> None:
    for data in (b"1", b"1,", b'1,"a', b'1,"a"', b"1,a\r"):
        got = kernel.csv_records(data, 0, 3, False, COMMA, True, b"", kinds(3, 5), [0, b""], *ALL)
        assert not len(got[1]) and got[2] == 1 and got[5] == 0
    got = kernel.csv_records(b"1,a\n2,", 0, 3, False, COMMA, True, b"", kinds(3, 5), [0, b""], *ALL)
    assert got[0][0].tolist() == [1] and got[2] == 1 and got[5] == 4


@BOTH
def test_a_header_is_a_record_of_which_nothing_is_wanted(kernel: ModuleType) -> None:
    none = kinds(), [], np.empty(0, np.uint8), False
    assert plain(kernel.csv_records(b"a,b\n1,2\n", 0, 1, True, COMMA, True, b"", *none)) == [[], [4], 0, 0, b"", 4]
    assert plain(kernel.csv_records(b'a"\n1\n', 0, 1, True, COMMA, True, b"", *none)) == [[], [], 2, 0, b"", 3]


@BOTH
def test_arguments(kernel: ModuleType) -> None:
    def strings(delimiter: Any = COMMA, kind: Any = None, defaults: Any = (0,), records: Any = (b"1",)) -> Any:
        kind = kinds(3) if kind is None else kind
        return kernel.csv_strings(list(records), delimiter, True, b"", kind, list(defaults), *ALL)

    assert strings()[1] == 0
    for wrong in ({"delimiter": 300}, {"delimiter": -1}, {"kind": kinds(6)}, {"kind": kinds(0)}, {"defaults": ()}):
        with pytest.raises(ValueError):
            strings(**wrong)
    for wrong in ({"records": ["1"]}, {"kind": kinds(5), "defaults": ["x"]}):
        with pytest.raises(TypeError):
            strings(**wrong)
    with pytest.raises(IndexError):
        kernel.csv_records(b"1", 2, 1, True, COMMA, True, b"", kinds(3), [0], *ALL)
    with pytest.raises(ValueError):
        kernel.csv_records(b"1", 0, -1, True, COMMA, True, b"", kinds(3), [0], *ALL)


PIECES = [b",", b";", b'"', b'""', b"a", b"12", b"-3.5", b" ", b"NA", b"1e5", b"\r", b"\n", b"\x00", b"\xff"]
TEXT = st.lists(st.sampled_from(PIECES), max_size=24).map(b"".join)
FORMS = st.fixed_dictionaries(
    {
        "delimiter": st.sampled_from([COMMA, ord(";"), ord('"'), ord("\n"), 0]),
        "quotes": st.booleans(),
        "na_value": st.sampled_from([b"", b"NA", b"a"]),
        "wanted": st.lists(st.integers(0, 1), max_size=4).map(lambda bits: np.array(bits, np.uint8)),
        "rest": st.booleans(),
    }
)
COLUMNS = st.lists(st.sampled_from([(1, 0.5), (2, None), (3, -1), (4, None), (5, b"d"), (5, None)]), max_size=4)


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXT, max_size=5), FORMS, COLUMNS)
def test_any_strings(records: list[bytes], form: dict[str, Any], columns: list[Any]) -> None:
    form |= {"kinds": kinds(*(k for k, _ in columns)), "defaults": [d for _, d in columns]}
    assert plain(kernels.csv_strings(records, **form)) == plain(reference_csv.csv_strings(records, **form))


@settings(max_examples=300, deadline=None)
@given(TEXT, FORMS, COLUMNS, st.integers(0, 9), st.booleans())
def test_any_records(data: bytes, form: dict[str, Any], columns: list[Any], want: int, final: bool) -> None:
    form |= {"kinds": kinds(*(k for k, _ in columns)), "defaults": [d for _, d in columns]}
    start = min(want, len(data))
    got, expect = (k.csv_records(data, start, want, final, **form) for k in (kernels, reference_csv))
    assert plain(got) == plain(expect)


NUMBERS = st.text("0123456789.eE+-xXpPinfa_ ()", max_size=12) | st.floats().map(repr) | st.integers().map(str)
HEXADECIMAL = st.floats(allow_nan=False, allow_infinity=False).map(float.hex)
LONG = st.tuples(st.integers(), st.integers(-60, 60), st.text("0123456789", max_size=40)).map(
    lambda t: f"{t[0]}.{t[2]}e{t[1]}"
)


@settings(max_examples=500, deadline=None)
@given(st.lists(NUMBERS | HEXADECIMAL | LONG, max_size=6))
def test_any_numbers(texts: list[str]) -> None:
    for kind in (1, 2, 3, 4):
        for text in texts:
            arguments: tuple[Any, ...] = ([text.encode()], ord("|"), False, b"", kinds(kind), [0], *ALL)
            assert plain(kernels.csv_strings(*arguments)) == plain(reference_csv.csv_strings(*arguments)), (kind, text)


@pytest.mark.parametrize("bad", [(), (0,), (7_001,), (19_999,), (3_000, 3_001, 15_000)])
@pytest.mark.parametrize("threads", [2, 3, 16])
def test_several_threads(threads: int, bad: tuple[int, ...]) -> None:
    """The rows before the first bad record, and its reason, whichever thread finds it."""
    records = [b'%d,%d.25,"a ""word"" %d"' % (i, i, i) for i in range(20_000)]
    for i in bad:
        records[i] = b"%d,no number,x" % i
    form = COMMA, True, b"", kinds(4, 2, 5), [None, None, None], *ALL
    assert plain(kernels.csv_strings(records, *form, threads)) == plain(kernels.csv_strings(records, *form, 1))


def test_many_records_at_once() -> None:
    """Enough for the interpreter to be handed over meanwhile."""
    records = [b"%d,%d.25,word%d" % (i, i, i) for i in range(20_000)]
    form = kinds(4, 2, 5), [None, None, None], *ALL
    got = kernels.csv_strings(records, COMMA, True, b"", *form)
    assert got[0][0].tolist() == list(range(20_000)) and got[0][2][-1] == b"word19999"
    assert (got[0][1] - got[0][0] == 0.25).all()
    again = kernels.csv_records(b"\n".join(records), 0, 2**62, True, COMMA, True, b"", *form)
    assert plain((got[0],)) == plain((again[0],))
