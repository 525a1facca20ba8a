"""Users' tables: every layout gives the same log, or an error."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st

from data import DATA, measured
from heliotrope.errors import FormatError, InputError
from heliotrope.lab.logs import Log, log_of, read_log
from heliotrope.validation import Array
from strategies import fixed

ROWS = 14
START = datetime(2020, 1, 20, 23, 40)
A = [float(i % 5) for i in range(ROWS)]
B = [i % 7 + 0.25 for i in range(ROWS)]


def stamp(form: str, step: timedelta = timedelta(minutes=10)) -> list[str]:
    return [(START + i * step).strftime(form) for i in range(ROWS)]


def table(times: list[Any], name: str = "time", separator: str = ",") -> str:
    """A wide table of A and B at the given times."""
    rows = [(name, "a", "b"), *zip(times, A, B, strict=True)]
    return "".join(separator.join(map(str, row)) + "\n" for row in rows)


def long_table(header: str, row: Callable[[int, str, float], str]) -> str:
    """The same, one row a measurement."""
    pairs = ((i, name, values[i]) for i in range(ROWS) for name, values in (("a", A), ("b", B)))
    return "\n".join([header, *(row(*pair) for pair in pairs)])


PLAIN = table(list(range(ROWS)))


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes, str], Path]:
    def written(content: str | bytes, name: str = "table.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


Write = Callable[..., Path]


def assert_ab(log: Log, step: str = "1") -> None:
    assert log.names == ("a", "b")
    assert log.step == step
    np.testing.assert_array_equal(log.values, np.column_stack([A, B]))
    np.testing.assert_array_equal(log.times, np.arange(1.0, ROWS + 1.0))


# ---- measured tables

MEASURED = {
    "intel_temperature": ("intel", (720, 51), "10 minutes", 720.0),
    "traffic_speed": ("traffic", (1200, 77), "5 minutes", 22 * 288 + 60.0),
    "traffic_i5_3days": ("traffic_i5", (180, 230), "5 minutes", 6 * 288 + 60.0),
    "traffic_metrla_week": ("traffic_metrla", (2016, 207), "5 minutes", 2016.0),
    "traffic_pemsbay16": ("traffic_pemsbay16", (10860, 16), "5 minutes", 180 * 288 + 60.0),
}


@measured
@pytest.mark.parametrize("name", MEASURED)
def test_every_measured_table_is_understood(name: str) -> None:
    places, shape, step, last = MEASURED[name]
    path = DATA / f"{name}.csv.gz"
    log = read_log(path, DATA / f"{places}_locations.csv")
    frame = pd.read_csv(path).drop(columns=["time", "day", "clock"], errors="ignore")
    assert log.names == tuple(frame.columns)
    assert log.values.shape == shape
    np.testing.assert_array_equal(log.values, frame.to_numpy())
    assert (log.step, log.times[0], log.times[1], log.times[-1]) == (step, 1.0, 2.0, last)
    assert log.points is not None
    assert log.points.shape == (shape[1], 1 if places == "traffic_i5" else 2)
    assert log.points.min(axis=0).tolist() == [0.0] * log.points.shape[1]
    assert log.points.max() == 1.0


@measured
def test_distances_on_the_map_are_those_on_the_globe() -> None:
    log = read_log(DATA / "traffic_metrla_week.csv.gz", DATA / "traffic_metrla_locations.csv")
    degrees = pd.read_csv(DATA / "traffic_metrla_locations.csv", index_col=0, dtype={0: str})
    assert log.points is not None
    assert degrees.index.tolist() == list(log.names)
    assert_proportional(
        distances(log.points), haversine(np.radians(degrees[["latitude", "longitude"]].to_numpy()))
    )


def distances(points: Array) -> Array:
    differences: Array = np.linalg.norm(points[:, None] - points, axis=2)
    return differences


def haversine(angles: Array) -> Array:
    """Great-circle distances on the unit sphere."""
    north, east = angles.T
    half = np.sin((north[:, None] - north) / 2.0) ** 2
    half += np.cos(north[:, None]) * np.cos(north) * np.sin((east[:, None] - east) / 2.0) ** 2
    found: Array = 2.0 * np.arcsin(np.sqrt(half))
    return found


def assert_proportional(a: Array, b: Array) -> None:
    """Within 0.25 %: at 34 degrees, cos(latitude) is off by 0.12 % 0.1 degrees from the middle."""
    apart = b > 1e-6 * b.max()
    ratio = a[apart] / b[apart]
    assert np.ptp(ratio) < 2.5e-3 * ratio.mean()


# ---- times


@pytest.mark.parametrize("name", ["time", "Zeit"])
@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d %H:%M",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%d %H:%M:%S.000+01:00",
        "%Y-%m-%d %H:%M UTC",
        "%Y-%m-%d %I:%M %p",
        "%Y/%m/%d %H:%M",
        "%d/%m/%Y %H:%M",
        "%m/%d/%Y %I:%M:%S %p",
        "%d-%m-%Y %H:%M",
        "%d.%m.%Y %H:%M",
        "%d-%b-%Y %H:%M",
        "%d %B %Y %H:%M",
        "%a %b %d %Y %H:%M:%S",
    ],
)
def test_time_stamps_across_midnight(write: Write, form: str, name: str) -> None:
    assert_ab(read_log(write(table(stamp(form), name))), "10 minutes")


@pytest.mark.parametrize("form", ["%Y%m%d%H%M", "%Y%m%d%H%M%S"])
def test_compact_timestamps_are_not_numbers(write: Write, form: str) -> None:
    assert_ab(read_log(write(table(stamp(form)))), "10 minutes")


@pytest.mark.parametrize("form", ["%Y%m%d", "%Y-%m-%d", "%d.%m.%Y", "%b %d, %Y"])
def test_dates_across_a_month(write: Write, form: str) -> None:
    dates = [f'"{date}"' for date in stamp(form, timedelta(days=1))]
    assert_ab(read_log(write(table(dates, "Date"))), "1 day")


def test_points_put_the_day_first_where_nothing_shows_it(write: Write) -> None:
    dates = [f"{i % 3 + 1:02}.04.2020 {i:02}:00" for i in range(ROWS)]
    log = read_log(write(table(dates)))
    assert log.times[-1] - log.times[0] < 3 * 24  # three days, not three months


def test_offsets_carry_a_log_over_the_change_of_clocks(write: Write) -> None:
    early = [f"2020-03-29T01:{minute:02}:00+01:00" for minute in range(53, 60)]
    late = [f"2020-03-29T03:{minute:02}:00+02:00" for minute in range(7)]
    assert_ab(read_log(write(table(early + late))), "1 minute")


@pytest.mark.parametrize(
    ("times", "name", "step"),
    [
        (list(range(ROWS)), "time", "1"),
        ([0.1 * i for i in range(ROWS)], "t", "0.1"),
        ([1.6e9 + 0.1 * i for i in range(ROWS)], "Timestamp", "0.1"),
        ([-3.0 + 2.5 * i for i in range(ROWS)], "Time [s]", "2.5"),
        ([f"06:{i:02}" for i in range(ROWS)], "clock", "1 minute"),
        ([f"6:00:{i:02}.5" for i in range(ROWS)], "Uhrzeit", "1 second"),
        ([2000 + i for i in range(ROWS)], "year", "1"),
    ],
)
def test_other_times(write: Write, times: list[Any], name: str, step: str) -> None:
    assert_ab(read_log(write(table(times, name))), step)


@pytest.mark.parametrize("header", ["day,clock", "date,time", "Datum,Uhrzeit"])
@pytest.mark.parametrize("clock", ["%H:%M", "%H:%M:%S", "%I:%M %p"])
@pytest.mark.parametrize("date", ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%d 00:00:00", "number"])
def test_a_day_and_its_clock(write: Write, header: str, clock: str, date: str) -> None:
    if date == "number" and header.startswith("Datum"):
        header = "day,Uhrzeit"
    days = stamp("%d" if date == "number" else date)
    both = [f"{day},{time}" for day, time in zip(days, stamp(clock), strict=True)]
    assert_ab(read_log(write(table(both, header))), "10 minutes")


def test_no_times_count_the_rows(write: Write) -> None:
    rows = "".join(f"{a},{b}\n" for a, b in zip(A, B, strict=True))
    assert_ab(read_log(write("a,b\n" + rows)))


def test_nights_stay_gaps_and_rows_are_sorted(write: Write) -> None:
    times = [24 * day + hour for day in range(2) for hour in range(6, 13)]
    body = table(times).splitlines()
    log = read_log(write("\n".join([body[0], *body[:0:-1]])))
    assert log.times.tolist() == [1 + time - 6 for time in times]
    np.testing.assert_array_equal(log.values, np.column_stack([A, B]))


# ---- layouts


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("time,sensor,value", lambda i, name, y: f"{i},{name},{y}"),
        ("value,time,sensor", lambda i, name, y: f"{y},{i},{name}"),
        ("Station ID,speed,step", lambda i, name, y: f"{name},{y},{i}"),
        ("reward,match,arm", lambda i, name, y: f"{y},{i},{name}"),
        ("t,x,y", lambda i, name, y: f"{i},{name},{y}"),
        ("t,where,what", lambda i, name, y: f"{i},{name},{y}"),
        (",time,variable,value", lambda i, name, y: f"{2 * i + (name == 'b')},{i},{name},{y}"),
    ],
)
def test_long_tables(write: Write, header: str, row: Callable[[int, str, float], str]) -> None:
    assert_ab(read_log(write(long_table(header, row))))


def test_a_long_table_with_a_day_and_its_clock(write: Write) -> None:
    def row(i: int, name: str, y: float) -> str:
        return f"{name},{i // 24 + 1},{i:02}:00,{y}"

    assert_ab(read_log(write(long_table("place,day,clock,value", row))), "1 hour")


def test_one_measurement_at_a_time_is_long_by_name(write: Write) -> None:
    rows = "".join(f"{i},{i % 2 + 9},{A[i]}\n" for i in range(ROWS))
    log = read_log(write("round,arm,reward\n" + rows))
    assert log.names == ("9", "10")
    expected = [[A[i], np.nan] if i % 2 == 0 else [np.nan, A[i]] for i in range(ROWS)]
    np.testing.assert_array_equal(log.values, expected)


def test_times_apart_and_no_names_are_wide(write: Write) -> None:
    assert read_log(write(PLAIN.replace("a,b", "x,y"))).names == ("x", "y")


def test_the_index_of_pandas_is_a_time_or_nothing(write: Write) -> None:
    assert_ab(read_log(write(table(list(range(ROWS)), name=""))))
    assert_ab(read_log(write(table(stamp("%Y-%m-%d %H:%M"), name=""))), "10 minutes")


# ---- files


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.encode(),
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.rstrip().encode(),
        lambda text: ("\n" + text + "\n\n").encode(),
        lambda text: gzip.compress(text.encode()),
        lambda text: text.replace("time", '"time"').replace("2.25", '"2.25"').encode(),
    ],
    ids=["plain", "mark", "windows", "mac", "no last", "blank lines", "gzip", "quotes"],
)
def test_how_it_is_written(write: Write, separator: str, change: Callable[[str], bytes]) -> None:
    assert_ab(read_log(write(change(table(list(range(ROWS)), separator=separator)))))


def test_spreadsheets_end_with_empty_rows_and_pad_with_blanks(write: Write) -> None:
    assert_ab(read_log(write(PLAIN.replace(",", ", ") + ",,\n,,\n")))


def test_semicolons_let_a_comma_be_the_decimal_sign(write: Write) -> None:
    text = table(stamp("%d.%m.%Y %H:%M"), "Zeit", ";")
    german = "\n".join(
        f"{t};{a.replace('.', ',')};{b.replace('.', ',')}" for t, a, b in cells(text)
    )
    assert_ab(read_log(write(german)), "10 minutes")
    with pytest.raises(FormatError, match=r"'1\.0' on line 3"):  # a thousand, or one?
        read_log(write(german.replace(";1,0;", ";1.0;")))


def cells(text: str) -> list[list[str]]:
    return [line.split(";") for line in text.splitlines()]


@pytest.mark.parametrize("mark", ["", " ", "NA", "n/a", "NaN", "nan", "null", "None", "-", "?"])
def test_gaps(write: Write, mark: str) -> None:
    log = read_log(write(PLAIN.replace("2.25", mark)))
    np.testing.assert_array_equal(np.isnan(log.values), [[False, b == 2.25] for b in B])


# ---- what is refused


def with_line(number: int, line: str) -> str:
    lines = PLAIN.splitlines()
    return "\n".join([*lines[: number - 1], line, *lines[number:]])


def dated(third: str) -> str:
    return table(["01/02/2020 10:00", "01/02/2020 10:10", third] + ["03/02/2020"] * (ROWS - 3))


BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "nothing"),
    "blank": ("\n \n", "nothing"),
    "header only": ("time,a,b\n", "none"),
    "no header": ("0,1,2\n" + PLAIN[9:], "line 1"),
    "too short a row": (with_line(5, "3,1"), "3 fields.*got 2 on line 5"),
    "too long a row": (with_line(15, "3,1,2,4"), "3 fields.*got 4 on line 15"),
    "a word": (with_line(7, "5,high,2"), "column 'a'.*'high' on line 7"),
    "an underscore": (with_line(7, "5,1_0,2"), "'1_0' on line 7"),
    "a thousand": (with_line(7, '5,"1,000",2'), "'1,000' on line 7"),
    "words": (PLAIN.replace("a,b", "a,b,c").replace("5\n", "5,x\n"), "column 'c'.*'x' on line 2"),
    "infinite": (with_line(7, "5,inf,2"), "column 'a'.*'inf' on line 7"),
    "huge": (with_line(7, "5,1e101,2"), "column 'a'.*'1e101' on line 7"),
    "same names": (PLAIN.replace("b", "a"), "2 called 'a'"),
    "no name": (PLAIN.replace("b", ""), "number 3"),
    "one column": ("a\n1\n2\n", "2 columns"),
    "one place": ("time,a\n" + "".join(f"{i},{i % 3}\n" for i in range(ROWS)), "2 places"),
    "no place": ("day,clock\n" + "".join(f"{i},06:00\n" for i in range(ROWS)), "2 places"),
    "constant": ("time,a,b\n" + "".join(f"{i},3,3\n" for i in range(ROWS)), "3 everywhere"),
    "no value": ("time,a,b\n" + "".join(f"{i},{i % 3},-\n" for i in range(ROWS)), "'b'"),
    "few": ("\n".join(PLAIN.splitlines()[:10]), "10 times; got 9"),
    "binary": (bytes(range(256)), "binary"),
    "latin": (PLAIN.replace("b", "ä").encode("latin-1"), "0xe4 on line 1"),
    "utf-16": (PLAIN.encode("utf-16"), "binary"),
    "half a gzip": (gzip.compress(PLAIN.encode())[:-9], "gzip"),
    "bad gzip": (gzip.compress(PLAIN.encode())[:15] + b"junk" * 9, "gzip"),
    "open quote": (with_line(6, '4,"1,2'), "line 6"),
    "endless field": (with_line(6, "4,1," + "2" * 200_000), "line 6"),
    "same time": (with_line(9, "3,1,2"), "line 5 and line 9"),
    "same time, more places": (
        "time,a,b,c\n" + "".join(f"{i % 9},{i % 3},2,1\n" for i in range(ROWS)),
        "line 2 and line 11",
    ),
    "same place twice": (
        long_table("time,place,value", lambda i, name, y: f"{i // 2},{name},{y}"),
        "'a' twice at one time, on line 2 and line 4",
    ),
    "no name of a place": (
        long_table("time,place,value", lambda i, name, y: f"{i},{name.strip('b')},{y}"),
        "column 'place'.*line 3",
    ),
    "places that never come again": (
        long_table("time,place,value", lambda i, name, y: f"{i},{name}{i},{y}"),
        "column 'place'",
    ),
    "long or wide": (
        long_table("time,p,q", lambda i, name, y: f"{i},{ord(name)},{y}"),
        "Name the columns time, place, value",
    ),
    "no time": (with_line(8, ",1,2"), "column 'time'.*line 8"),
    "a time that is none": (with_line(8, "soon,1,2"), "column 'time'.*'soon' on line 8"),
    "a stamp that is none": (
        table([*stamp("%Y-%m-%d %H:%M")[:-1], "2020-02-30"]),
        "'2020-02-30' on line 15",
    ),
    "today": (table([*stamp("%Y-%m-%d")[:-1], "today"]), "'today' on line 15"),
    "no such clock": (table([f"1,06:{5 * i:02}" for i in range(ROWS)], "day,clock"), "line 14"),
    "a stamp beside a clock": (table([f"{i}.5,06:00" for i in range(ROWS)], "day,clock"), "line 2"),
    "clocks past midnight": (
        table([f"{(20 + i) % 24}:00" for i in range(ROWS)]),
        "'0:00' on line 6",
    ),
    "zone unknown": (table(stamp("%Y-%m-%d %H:%M CET")), "line 2"),
    "zones here and there": (
        table([*stamp("%Y-%m-%d %H:%MZ")[:-1], "2020-02-03 10:00"]),
        "time zone.*line 15",
    ),
    "which is the day": (dated("02/02/2020"), "'01/02/2020 10:00' on line 2"),
    "both orders": (dated("01/14/2020").replace("03/", "14/"), "line 4 and line 5"),
    "too many times": (PLAIN.replace("a", "date"), "'time', 'date'"),
    "times under another name": (PLAIN.replace("time", "p"), "'p', which never decreases"),
    "times too close": (table([0, 1e-20, *range(2, ROWS)]), "too close"),
    "times too far": (table([*(i * 1e-300 for i in range(ROWS - 1)), 1e100]), "too far"),
}


@pytest.mark.parametrize("case", BAD)
def test_refused_with_the_place_of_the_fault(write: Write, case: str) -> None:
    content, message = BAD[case]
    with pytest.raises(FormatError, match=message) as refusal:
        read_log(write(content, "brought.csv"))
    assert "brought.csv" in str(refusal.value)


@pytest.mark.parametrize("path", ["absent.csv", ".", "a\0b", 5, b"x", None])
def test_other_files_are_refused(path: Any) -> None:
    with pytest.raises(InputError):
        read_log(path)


# ---- locations


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("name,x,y\na,10,0\nb,13,4\n", [[0.0, 0.0], [0.75, 1.0]]),
        ("number,X (m),sensor\n1,8,b\n2,6,a\n3,junk,c\n", [[0.0], [1.0]]),
        ("s,x_m,y_m,z_m,load\nb,0,0,1,9\na,0,2,0,9\n", [[0.0, 1.0, 0.0], [0.0, 0.0, 0.5]]),
        ("s,milepost,direction\nb,3,N\na,1,S\n", [[0.0], [1.0]]),
        ("s;position\nb;3,5\na;1\n", [[0.0], [1.0]]),
        ("s,lat,lon\nb,0,-179.9\na,0,179.9\n", [[0.0, 0.0], [1.0, 0.0]]),
        ("s,postmile,Latitude,Longitude\nb,1,61,9\na,9,59,9\n", [[0.0, 0.0], [0.0, 1.0]]),
        ("s,lat,lon\na,59.9,9\nb,60.1,9.4\n", [[0.0, 0.0], [1.0, 1.0]]),  # cos(60) is a half
    ],
)
def test_locations(write: Write, text: str, points: list[list[float]]) -> None:
    log = read_log(write(PLAIN), write(text, "places.csv"))
    assert log.points is not None
    np.testing.assert_allclose(log.points, points, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing"),
        ("s,x\n", "none"),
        ("s,x\na,1\n", "none for 'b' in column 's'"),
        ("s,x\na,1\nb,2\nb,3\n", "'b' on line 3 and line 4"),
        ("s,x\na,1\nb,\n", "column 'x'.*line 3"),
        ("s,x\na,1\nb,far\n", "column 'x'.*'far' on line 3"),
        ("s,x\na,1\nb,1\n", "all at one point"),
        ("s,p,q\na,1,2\nb,2,3\n", "'s', 'p', 'q'.*x,y"),
        ("s,x_m,y_km\na,1,2\nb,2,3\n", "one unit"),
        ("s,lat\na,1\nb,2\n", "'lat'"),
        ("s,lat,lon\na,1,2\nb,91,3\n", "column 'lat'.*'91' on line 3"),
    ],
)
def test_locations_refused(write: Write, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message) as refusal:
        read_log(write(PLAIN), write(text, "places.csv"))
    assert "places.csv" in str(refusal.value)


# ---- tables in memory


FRAME = pd.DataFrame({"a": A, "b": B})
HOURS = pd.date_range("2020-03-28 20:00", periods=ROWS, freq="h", tz="Europe/Berlin")
LOCAL = pd.date_range("2020-03-27 20:00", periods=ROWS, freq="h")


@pytest.mark.parametrize(
    ("frame", "step"),
    [
        (FRAME, "1"),
        (FRAME.set_index(HOURS), "1 hour"),
        (FRAME.set_index(HOURS.rename("when")), "1 hour"),
        (FRAME.set_index(pd.timedelta_range("20h", periods=ROWS, freq="h")), "1 hour"),
        (FRAME.set_index(pd.Index(range(5, 5 + ROWS), name="t")), "1"),
        (FRAME.set_index(pd.Index(range(7, 7 + 3 * ROWS, 3))), "1"),
        (FRAME.assign(date=LOCAL.date, time=LOCAL.time), "1 hour"),
        (FRAME.assign(time=HOURS).melt("time"), "1 hour"),
        (FRAME.rename_axis("t").melt(ignore_index=False), "1"),
        (pd.DataFrame({"y": FRAME.rename_axis(index="t", columns="arm").stack()}), "1"),
    ],
)
def test_frames(frame: pd.DataFrame, step: str) -> None:
    assert_ab(log_of(frame), step)


def test_gaps_of_frames() -> None:
    frame = FRAME.assign(c=pd.array([1, None] * (ROWS // 2), dtype="Int64"))
    np.testing.assert_array_equal(log_of(frame).values[:2, 2], [1.0, np.nan])


def test_locations_in_memory() -> None:
    places = pd.DataFrame({"x": [3.0, 1.0]}, index=["b", "a"])
    points = log_of(FRAME, places).points
    assert points is not None
    assert points.tolist() == [[0.0], [1.0]]


@pytest.mark.parametrize(
    "frame",
    [
        None,
        5,
        FRAME["a"],
        pd.DataFrame(),
        FRAME[["a"]],
        FRAME.head(3),
        FRAME.head(0),
        FRAME.set_axis(["a", "a"], axis=1),
        FRAME.set_axis(["a", None], axis=1),
        FRAME.set_axis(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]), axis=1),
        FRAME.assign(b=True),
        FRAME.assign(b=1j),
        FRAME.assign(b=np.inf),
        FRAME.assign(b=10**400),
        FRAME.assign(b=pd.Series([(1, 2)] * ROWS)),
        FRAME.assign(time=None),
        FRAME.rename_axis("a"),
        FRAME.set_index(pd.Index([HOURS[0]] * ROWS)),
    ],
)
def test_frames_refused(frame: Any) -> None:
    with pytest.raises(InputError):
        log_of(frame)


def test_a_row_of_a_frame_is_named_by_its_label() -> None:
    frame = FRAME.astype(object)
    frame.loc[7, "b"] = "x"
    with pytest.raises(InputError, match="column 'b'; got 'x' on row 7 of the table"):
        log_of(frame)


def test_a_log_cannot_be_changed() -> None:
    log = log_of(FRAME, pd.DataFrame({"s": ["a", "b"], "x": [1, 2]}))
    for part in (log.times, log.values, log.points):
        assert part is not None
        assert not part.flags.writeable


# ---- any table


@st.composite
def matrices(draw: st.DrawFn) -> tuple[list[int], list[str], Array]:
    """Rising whole times, names of places, and values with gaps, none of it degenerate."""
    names = draw(
        st.lists(
            st.text(PRINTABLE, max_size=6).map("#{}#".format), min_size=2, max_size=5, unique=True
        )
    )
    times = sorted(draw(st.sets(st.integers(0, 5000), min_size=10, max_size=16)))
    cell = st.none() | st.floats(-1e9, 1e9)
    row = st.lists(cell, min_size=len(names), max_size=len(names))
    rows = draw(st.lists(row, min_size=len(times), max_size=len(times)))
    values = np.array(rows, dtype=float)
    assume(not np.isnan(values).all(axis=0).any())
    assume(np.nanmin(values) < np.nanmax(values))
    return times, names, values


PRINTABLE = st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"])


def in_minutes(form: str, times: list[int]) -> list[str]:
    return [(datetime(2020, 1, 31) + timedelta(minutes=time)).strftime(form) for time in times]


TIMES: dict[str, Callable[[list[int]], list[list[str]]]] = {
    "numbers": lambda times: [["time"], *([str(time)] for time in times)],
    "stamps": lambda times: [["Zeit"], *([one] for one in in_minutes("%Y-%m-%d %H:%M", times))],
    "day and clock": lambda times: [
        ["day", "clock"],
        *([str(time // 1440), f"{time % 1440 // 60:02}:{time % 60:02}"] for time in times),
    ],
}


@st.composite
def styles(draw: st.DrawFn) -> tuple[str, str, Callable[[bytes], bytes]]:
    """A separator, a line end, and what is done to the bytes."""
    packed: list[Callable[[bytes], bytes]] = [
        bytes,
        gzip.compress,
        lambda text: b"\xef\xbb\xbf" + text,
    ]
    return (
        draw(st.sampled_from(",;\t")),
        draw(st.sampled_from(["\n", "\r\n"])),
        draw(st.sampled_from(packed)),
    )


@fixed(150)
@given(
    matrices(),
    st.sampled_from(sorted(TIMES)),
    styles(),
    st.sampled_from(["", "NA", "NaN", "-"]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_any_table_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory,
    matrix: tuple[list[int], list[str], Array],
    form: str,
    style: tuple[str, str, Callable[[bytes], bytes]],
    gap: str,
    long: bool,
    random: Any,
) -> None:
    times, names, values = matrix
    (*time_header,), *stamps = TIMES[form](times)
    texts = [[gap if np.isnan(y) else repr(float(y)) for y in row] for row in values]
    if long:
        header = [*time_header, "sensor", "value"]
        rows = [
            [*when, name, text]
            for when, row in zip(stamps, texts, strict=True)
            for name, text in zip(names, row, strict=True)
        ]
    else:
        header = [*time_header, *names]
        rows = [[*when, *row] for when, row in zip(stamps, texts, strict=True)]
    random.shuffle(rows)
    separator, end, packed = style
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator=end).writerows([header, *rows])
    path = tmp_path_factory.mktemp("any") / "table"
    path.write_bytes(packed(text.getvalue().encode()))

    log = read_log(path)
    assert set(log.names) == set(names)
    order = [names.index(name) for name in log.names]
    assert long or order == sorted(order)
    np.testing.assert_array_equal(log.values, values[:, order])
    step = float(np.median(np.diff(times)))
    np.testing.assert_allclose(log.times, 1.0 + (np.array(times) - times[0]) / step, rtol=1e-12)


CHARACTERS = "0123456789.,;\t\n\r\"'-+/: eZaTtimeplcv\0é"


@fixed(400)
@given(
    st.sampled_from([PLAIN, table(stamp("%Y-%m-%d %H:%M")), table(stamp("%d/%m/%Y,%H:%M"), "d,t")]),
    st.lists(st.tuples(st.integers(0, 600), st.text(CHARACTERS, max_size=4)), max_size=4),
)
def test_what_is_damaged_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, text: str, damages: list[tuple[int, str]]
) -> None:
    for at, put in damages:
        text = text[:at] + put + text[at + 1 :]
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(text.encode())
    try:
        log = read_log(path)
    except FormatError as error:
        message = str(error)
    else:
        message = ""
        assert log.values.shape == (len(log.times), len(log.names))
        assert np.all(np.diff(log.times) > 0.0)
    assert not message or "damaged" in message
