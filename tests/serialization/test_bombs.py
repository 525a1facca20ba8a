"""Files that claim more than they hold, or hold less than they need."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.errors import FormatError, InputError, TimeError
from heliotrope.serialization import archive
from heliotrope.study.clocks import Wall
from heliotrope.tables import escaped, read_sheet, unescaped

PRIOR = ht.Prior(space=RBF(0.2), time=ht.Forgetting(0.1), noise=0.01)


def saved() -> bytes:
    domain = ht.grid(5)
    optimizer = ht.Optimizer(domain, ht.tv_gp_ucb(PRIOR), seed=0)
    for value in (0.1, 0.5, 0.3):
        optimizer.tell(optimizer.ask(), value)
    optimizer.ask()
    return optimizer.dumps()


def repacked(data: bytes, change: dict[str, bytes], compress: int = zipfile.ZIP_STORED) -> bytes:
    """The file with some entries replaced, and correct checksums of the zip."""
    whole = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(whole, "w", compress) as new:
        for name in old.namelist():
            new.writestr(name, change.get(name, old.read(name)))
        for name in change.keys() - set(old.namelist()):
            new.writestr(name, change[name])
    return whole.getvalue()


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def header_of(data: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(data)) as whole:
        found: dict[str, Any] = json.loads(np.load(io.BytesIO(whole.read("header.npy"))).tobytes())
    return found


def with_header(data: bytes, header: dict[str, Any]) -> bytes:
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    return repacked(data, {"header.npy": npy(text)})


def test_compressed_entries_are_refused_before_they_expand() -> None:
    bomb = repacked(saved(), {"bomb.npy": npy(np.zeros(20_000_000))}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1_000_000
    with pytest.raises(FormatError, match="not compressed"):
        ht.Optimizer.loads(bomb)


def test_a_shape_larger_than_its_data_is_refused() -> None:
    entry = npy(np.zeros(10)).replace(b"(10,), }     ", b"(10000000,), }")
    with pytest.raises(FormatError):
        ht.Optimizer.loads(repacked(saved(), {"agent/mean.npy": entry}))


def test_a_changed_file_is_noticed() -> None:
    data = saved()
    changed = header_of(data) | {"asked": 7}
    with pytest.raises(FormatError, match="a changed one"):
        ht.Optimizer.loads(with_header(data, changed))
    with pytest.raises(FormatError, match="a changed one"):
        ht.Optimizer.loads(repacked(data, {"open_places.npy": npy(np.array([3]))}))
    assert ht.Optimizer.loads(data).ask().t == 5.0


ENTRIES = sorted(
    name for name in zipfile.ZipFile(io.BytesIO(saved())).namelist() if name != "header.npy"
)
ARRAYS = (np.zeros(0), np.zeros((2, 3)), np.full(5, np.nan), np.array([10**6]), np.array([-1.0]))


@given(st.sampled_from(ENTRIES), st.sampled_from(range(len(ARRAYS))))
def test_arrays_of_another_file_are_noticed(name: str, number: int) -> None:
    data = saved()
    changed = repacked(data, {name: npy(ARRAYS[number])})
    if changed != repacked(data, {}):
        with pytest.raises(FormatError, match="a changed one"):
            ht.Optimizer.loads(changed)


def test_a_file_without_a_checksum_is_refused() -> None:
    data = saved()
    header = header_of(data)
    del header["digest"]
    with pytest.raises(FormatError, match="a changed one"):
        ht.Optimizer.loads(with_header(data, header))


@pytest.mark.parametrize("kind", ["U8", "S8"])
def test_arrays_of_text_are_refused_at_once(kind: str) -> None:
    header, arrays = archive.unpack(saved(), "heliotrope", 1, "a test")
    for name in arrays:
        data = archive.pack(header, {**arrays, name: arrays[name].astype(kind)})
        with pytest.raises(FormatError, match="unreadable"):
            ht.Optimizer.loads(data)


def test_a_state_of_text_is_not_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = ht.Optimizer(ht.grid(3), ht.uniform())
    monkeypatch.setattr(type(optimizer.agent), "state", lambda _: {"names": np.array(["a"])})
    with pytest.raises(InputError, match="an array of text, agent/names"):
        optimizer.dumps()


def test_snapshots_with_odd_arrays_are_refused() -> None:
    data = archive.pack_flat({"format": "x", "version": 1}, {"a": np.zeros(3)})
    for wrong in (b'"|O8"', b'"<M8"', b'"|V8"'):
        with pytest.raises(FormatError):
            archive.unpack_flat(data.replace(b'"<f8"', wrong), "x", 1, "a test")


@pytest.mark.parametrize("row", [b"," * 1000 + b"\n", b"0" * 1000 + b"\n"])
def test_a_compressed_table_stops_at_its_limit(tmp_path: Path, row: bytes) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"t,value\n" + row * 30_000))
    assert path.stat().st_size < 100_000
    with pytest.raises(FormatError, match="when decompressed"):
        read_sheet(path)


def test_cells_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliotrope.tables.LARGEST_CELLS", 1000)
    path = tmp_path / "wide.csv"
    path.write_bytes(b",".join(b"%d" % i for i in range(2000)) + b"\n")
    with pytest.raises(FormatError, match="at most 1,000 cells"):
        read_sheet(path)


# Texts and formulas


@pytest.mark.parametrize("unit", [" " * 30_000 + "!", "1" * 30_000 + "s", "s" * 30_000])
def test_a_long_unit_is_refused_at_once(unit: str) -> None:
    with pytest.raises(InputError) as refused:
        Wall(unit)
    assert refused.value.field == "unit"
    assert len(str(refused.value)) < 300


@given(st.text(alphabet="'=+-@\t\rab", max_size=6))
def test_formulas_are_escaped_and_read_back(text: str) -> None:
    cell = escaped(text)
    assert isinstance(cell, str)
    assert not cell.startswith(tuple("=+-@\t\r"))
    assert unescaped(cell) == text


def test_an_export_holds_no_formula_and_can_be_imported(tmp_path: Path) -> None:
    from heliotrope.study.tables import add_results, new_results, read_results, setup_of

    names = ["=cmd|' /C calc'!A0", "+1", "'=x", "plain", "@sum"]
    study = ht.Study.create("formulas", names, store="memory:")
    for number, name in enumerate(names):
        study.add(name, float(number))
    text = study.export()
    for line in text.splitlines()[1:]:
        assert not line.split(",")[2].lstrip('"').startswith(tuple("=+-@"))
    path = tmp_path / "results.csv"
    path.write_text(text)
    other = ht.Study.create("again", names, store="memory:")
    setup = setup_of(other.events())
    list(add_results(new_results(read_results(path, setup), other.events()), other, setup))
    assert [row["option"] for row in json.loads(other.export("json"))["results"]] == names


# One optimizer in several threads, and times


def test_threads_may_share_an_optimizer() -> None:
    optimizer = ht.Optimizer(ht.grid(20), ht.tv_gp_ucb(PRIOR), seed=0)

    def work(number: int) -> None:
        for step in range(25):
            suggestion = optimizer.ask()
            optimizer.belief()
            if step % 5 == 0:
                optimizer.cancel(suggestion)
            else:
                optimizer.tell(suggestion, float(number))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert (optimizer.asked, len(optimizer.history), optimizer.open) == (200, 160, ())
    copy = deepcopy(optimizer)
    assert copy.ask().index == optimizer.ask().index


def test_a_counter_that_cannot_count_says_so() -> None:
    optimizer = ht.Optimizer(ht.grid(3), ht.uniform(), seed=0)
    optimizer.ask(t=1e17)
    with pytest.raises(TimeError, match="a step of 1 changes nothing"):
        optimizer.ask()
    assert optimizer.ask(t=2e17).t == 2e17


def test_denormal_steps_are_taken_by_change_points() -> None:
    policy = ht.policies.cp_gp_ucb(PRIOR)
    optimizer = ht.Optimizer(ht.grid(3), policy, seed=0)
    for step in range(5):
        optimizer.tell(optimizer.ask(t=step * 5e-324), float(step))
    assert np.isfinite(optimizer.belief().mean).all()
