"""pandas and polars tables wherever a table goes in or out."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from polars.testing import assert_frame_equal

import heliotrope as ht
from heliotrope.errors import FormatError, InputError
from heliotrope.lab.environments import Table
from heliotrope.lab.logs import log_of
from heliotrope.spaces import Parameter
from heliotrope.tables import as_rows

both = pytest.mark.parametrize("package", [pd, pl], ids=["pandas", "polars"])

ROWS: dict[str, list[Any]] = {
    "t": [1.0, 2.0, 3.0],
    "x": [0.0, 0.5, 1.0],
    "mode": ["a", "b", "a"],
    "vent": [True, False, True],
    "value": [0.1, None, 0.3],
}
SPACE: dict[str, Parameter] = {
    "x": ht.Real(0, 1),
    "mode": ht.Categorical(["a", "b"]),
    "vent": ht.Boolean(),
}


def study(name: str = "s") -> ht.Study:
    return ht.Study.create(name, SPACE, store="memory:")


@both
def test_points_times_and_values_are_columns(package: ModuleType) -> None:
    frame = package.DataFrame({"x": [0.0, 0.5, 1.0], "y": [0.0, 1.0, 2.0], "t": [1, 2, 3]})
    domain = ht.Finite(frame[["x", "y"]])
    assert_allclose(domain.points, [[0.0, 0.0], [0.5, 1.0], [1.0, 2.0]])
    optimizer = ht.Optimizer(domain, ht.auto(domain))
    optimizer.tell_many(frame["t"], frame[["x", "y"]], frame["y"], std=frame["x"] + 0.1)
    assert optimizer.history.y.tolist() == [0.0, 1.0, 2.0]
    assert Table(frame[["x", "y"]]).values.shape == (3, 2)


@both
def test_options_have_a_table_of_features(package: ModuleType) -> None:
    frame = package.DataFrame({"name": ["hall", "roof"], "height": [2, 9], "warmth": [21.5, 14.0]})
    options = ht.Options(frame["name"], features=frame[["height", "warmth"]])
    by_name = [{"height": 2.0, "warmth": 21.5}, {"height": 9.0, "warmth": 14.0}]
    assert options == ht.Options(["hall", "roof"], features=by_name)


@both
def test_a_study_takes_a_table_once(package: ModuleType) -> None:
    tracked = study()
    assert tracked.add_table(package.DataFrame(ROWS)) == 2  # a row has no value
    assert tracked.add_table(package.DataFrame(ROWS)) == 0
    assert [one["t"] for one in tracked.track()["results"]] == [1.0, 3.0]


@both
def test_a_wrong_cell_is_named_and_nothing_is_added(package: ModuleType) -> None:
    tracked = study()
    for column, cells, reason in [
        ("x", [0.0, 0.5, 7.0], "row 2 of the table"),
        ("mode", ["a", "b", "?"], "row 2 of the table"),
        ("value", [0.1, 0.2, "high"], "a number or a gap in column 'value'"),
    ]:
        with pytest.raises(InputError, match=reason):
            tracked.add_table(package.DataFrame({**ROWS, column: cells}, **_loose(package)))
    assert tracked.summary()["told"] == 0


def _loose(package: ModuleType) -> dict[str, Any]:
    return {"strict": False} if package is pl else {}


def test_a_file_is_a_table_too(tmp_path: Any) -> None:
    path = tmp_path / "results.csv"
    pd.DataFrame(ROWS).to_csv(path, index=False)
    assert study().add_table(path) == 2
    path.write_text("x,value\n0.5,0.1\n")
    with pytest.raises(FormatError, match=r"a column 'params\.mode' or 'mode'"):
        study().add_table(path)


def test_what_a_study_gives_it_also_takes() -> None:
    first = study("first")
    first.add_table(pl.DataFrame(ROWS))
    first.ask()
    in_pandas, in_polars = first.to_frame(), first.to_polars()
    assert list(in_pandas.columns) == in_polars.columns
    assert in_polars["value"].to_list() == [0.1, 0.3, None]
    assert in_polars["params.vent"].to_list() == [True, True, in_polars["params.vent"][2]]
    assert in_polars.schema["told_at"] == pl.Datetime("us", "UTC")
    told = in_polars["told_at"].drop_nulls().to_list()
    assert_allclose(
        [one.timestamp() for one in told],
        in_pandas["told_at"].dropna().map(datetime.timestamp),
        atol=1e-3,
    )
    for frame in (in_pandas, in_polars):
        again = study("again")
        assert again.add_table(frame) == 2
        same = ["t", "params.x", "params.mode", "params.vent", "value"]
        assert_frame_equal(again.to_polars()[same], in_polars[same].head(2))


def test_an_empty_study_is_an_empty_table() -> None:
    assert study().to_polars().height == len(study().to_frame()) == 0


def test_a_log_may_be_a_polars_table() -> None:
    days = [datetime(2020, 1, 1) + timedelta(days=i) for i in range(12)]
    columns = {"date": days, "a": list(range(12)), "b": [3.0, None] * 6}
    ours, theirs = log_of(pl.DataFrame(columns)), log_of(pd.DataFrame(columns))
    assert (ours.step, ours.names) == (theirs.step, theirs.names) == ("1 day", ("a", "b"))
    assert_allclose(ours.values, theirs.values)
    assert np.isnan(ours.values[1, 1])


def test_rows_of_a_table() -> None:
    assert as_rows(pl.DataFrame({"x": [1, None]})) == [{"x": 1}, {"x": None}]
    assert as_rows([{"x": 1}]) == [{"x": 1}]
    doubled = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(InputError, match="distinct names"):
        as_rows(doubled)
