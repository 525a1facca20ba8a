"""Tables of results from elsewhere: how they are read, and the errors of wrong ones."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import heliotrope as ht
from heliotrope.errors import FormatError, InputError
from heliotrope.study import Study, StudyConfig
from heliotrope.study.commands import Add
from heliotrope.study.tables import read_results, result_keys
from studies import CONTEXTUAL, SPACES, some_context

MIXED = StudyConfig(
    ht.SearchSpace(
        {
            "x": ht.Real(0, 10),
            "n": ht.Integer(1, 9),
            "m": ht.Categorical([1, "b"]),
            "on": ht.Boolean(),
        }
    )
)


def read(folder: Path, text: str, config: StudyConfig = MIXED) -> list[Add]:
    file = folder / "log.csv"
    file.write_text(text)
    return read_results(file, config.to_json())


def exported(study: Study, count: int) -> list[tuple[Any, ...]]:
    rng = random.Random(3)
    asks = [study.ask(1.5 * i, context=some_context(study, rng)) for i in range(count)]
    for ask in asks[1:]:
        study.tell(ask, ask.t - 2.0)
    return [(ask.params or ask.option, ask.t - 2.0, ask.t, ask.context) for ask in asks[1:]]


@pytest.mark.parametrize("name", [*SPACES, *CONTEXTUAL])
def test_what_a_study_exports_can_be_read(name: str, tmp_path: Path) -> None:
    space, context = CONTEXTUAL.get(name, (name, None))
    policy = {"kind": "uniform"}
    study = Study.create("a", SPACES[space], context=context, policy=policy, store="memory:")
    results = exported(study, 5)
    found = read(tmp_path, study.export(), study.config)
    assert [(one.chosen, one.value, one.t, one.context) for one in found] == results


def test_names_may_be_short_and_columns_in_any_order(tmp_path: Path) -> None:
    found = read(tmp_path, "note;on;value;m;x;n\nfirst;TRUE;1,5;1;2,25;3\n;false;-2;b;10;9\n")
    assert found == [
        Add(1.5, {"x": 2.25, "n": 3, "m": 1, "on": True}),
        Add(-2.0, {"x": 10.0, "n": 9, "m": "b", "on": False}),
    ]


def test_rows_without_a_value_are_left_aside(tmp_path: Path) -> None:
    config = StudyConfig(ht.Options(["a", "b"]))
    found = read(tmp_path, "option,value,t\na,1,2\nb,,3\nx,NA,1\nb,4,5\n", config)
    assert found == [Add(1.0, option="a", t=2.0), Add(4.0, option="b", t=5.0)]
    assert read(tmp_path, "option,value\na,\n", config) == []


def test_names_that_mean_something_else_are_written_in_full(tmp_path: Path) -> None:
    unit = ht.Real(0, 1)
    space = ht.SearchSpace({"value": unit, "t": unit, "n": unit})
    config = StudyConfig(space, context=ht.SearchSpace({"n": unit}))
    header = "params.value,params.t,n,context.n,value,t"
    (found,) = read(tmp_path, f"{header}\n0.1,0.2,0.3,0.4,5,6\n", config)
    assert found == Add(5.0, {"value": 0.1, "t": 0.2, "n": 0.3}, t=6.0, context={"n": 0.4})
    for short in ("params.value", "params.t", "context.n"):
        with pytest.raises(FormatError, match=f"expected a column '{short}'; got"):
            read(tmp_path, f"{header.replace(short, 'other')}\n0.1,0.2,0.3,0.4,5,6\n", config)


GOOD = "1,2,3,b,true,4"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("t,x,n,m,on\n1,2,3,b,true\n", "a column 'value'"),
        ("t,x,n,m,value\n1,2,3,b,4\n", "a column 'params.on' or 'on'"),
        (f"t,x,n,m,on,value\n{GOOD}\n2,11,3,b,true,4\n", "to 10.0; got 11.0 on line 3 of"),
        (f"t,x,n,m,on,value\n{GOOD}\n2,1,3.5,b,true,4\n", "from 1 to 9; got 3.5 on line 3 of"),
        (f"t,x,n,m,on,value\n{GOOD}\n2,1,3,c,true,4\n", "got 'c' on line 3 of"),
        (f"t,x,n,m,on,value\n{GOOD}\n2,1,3,b,yes,4\n", "true or false; got 'yes' on line 3 of"),
        (f"t,x,n,m,on,value\n{GOOD}\n2,,3,b,true,4\n", "finite"),
        (f"t,x,n,m,on,value\n{GOOD}\n2,low,3,b,true,4\n", "a number or a gap in column 'x'"),
        (
            f"t,x,n,m,on,value\n{GOOD}\n2,1,3,b,true,1e50\n",
            "below 1e+45 in size; got a size of 1e+50 on line 3",
        ),
        (f"t,x,n,m,on,value\n{GOOD}\n,1,3,b,true,4\n", "a time in every row in column 't'"),
        (f"t,x,n,m,on,value\n{GOOD}\n0,1,3,b,true,4\n", "Sort the rows"),
        ("", "a table with a header"),
    ],
)
def test_what_does_not_fit_is_refused_where_it_stands(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)
    assert "log.csv" in str(caught.value)


def test_an_unknown_option_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match=r"^option: expected one of \['a', 'b'\]; got 'c' on line 2 of "
    ):
        read(tmp_path, "option,value\nc,1\n", StudyConfig(ht.Options(["a", "b"])))
    with pytest.raises(InputError, match="a file to read"):
        read_results(tmp_path / "missing.csv", MIXED.to_json())


def test_an_extended_table_keeps_its_keys() -> None:
    one, other = Add(1.0, option="a"), Add(1.0, option="b")
    long, short = list(result_keys([one, one, other])), list(result_keys([one, one]))
    assert len(set(long)) == 3
    assert long[:2] == short
    assert list(result_keys([other, one])) == [long[2], long[0]]
    assert list(result_keys([])) == []
