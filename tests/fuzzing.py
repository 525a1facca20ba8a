"""Targets of fuzzing: each takes any bytes, and raises only errors that are defects."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.errors import HeliotropeError
from heliotrope.serialization import archive, codec
from heliotrope.study import StudyConfig
from heliotrope.study.state import StudyState
from heliotrope.study.tables import read_results
from heliotrope.tables import read_sheet

UID = "0123456789abcdef" * 2
CONFIG = StudyConfig.from_json({"options": ["a", "b"]})
SETUP = {"options": ["a", "=b"], "context": {"x": {"type": "real", "low": 0, "high": 1}}}


def _optimizer() -> ht.Optimizer:
    prior = ht.Prior(space=RBF(0.2), time=ht.Forgetting(0.1), noise=0.01)
    optimizer = ht.Optimizer(ht.grid(4), ht.tv_gp_ucb(prior), seed=0)
    for value in (0.1, 0.5):
        optimizer.tell(optimizer.ask(), value)
    optimizer.ask()
    return optimizer


def archive_of(text: bytes, arrays: Mapping[str, bytes]) -> bytes:
    """A zip of a header and of arrays, all of them as they are given."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as file:
        file.writestr("header.npy", _npy(np.frombuffer(text, dtype=np.uint8)))
        for name, data in arrays.items():
            file.writestr(f"{name}.npy", data)
    return whole.getvalue()


def _npy(array: object) -> bytes:
    file = io.BytesIO()
    np.save(file, np.asarray(array))
    return file.getvalue()


def read_archive(data: bytes) -> None:
    """Load a saved optimizer, given whole or as the text of its header, and use it."""
    with suppress(HeliotropeError):
        if not data.startswith(b"PK"):
            _, arrays = _optimizer().parts()
            with archive.readable("a header", "a test"):
                data = archive.pack(dict(json.loads(data)), arrays)  # with a right checksum
        optimizer = ht.Optimizer.loads(data)
        optimizer.tell(optimizer.ask(), 1.0)
        optimizer.belief()


def read_codec(data: bytes) -> None:
    """Decode a JSON tree, and a snapshot."""
    with suppress(HeliotropeError), archive.readable("a tree", "a test"):
        codec.decode(json.loads(data), {"array0": np.zeros(3)})
    with suppress(HeliotropeError):
        state = StudyState(UID, CONFIG, 0.0)
        state.loads(data)
        assert state.seq >= 1


def read_table(data: bytes) -> None:
    """Read a table, and the results of a study in it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(data)
        with suppress(HeliotropeError):
            sheet = read_sheet(path)
            for name in sheet.names:
                with suppress(HeliotropeError):
                    sheet.numbers(name)
        with suppress(HeliotropeError):
            read_results(path, SETUP)


def _archives() -> Sequence[bytes]:
    header, _ = _optimizer().parts()
    return [_optimizer().dumps(), json.dumps(header).encode()]


def _codecs() -> Sequence[bytes]:
    header, _ = _optimizer().parts()
    state = StudyState(UID, CONFIG, 0.0)
    state.extend([])
    setup = [json.dumps(header["setup"][key]).encode() for key in ("domain", "policy")]
    return [*setup, state.dumps()]


def _tables() -> Sequence[bytes]:
    return [
        b"t,option,context.x,value\n1,a,0.5,1.5\n2,'=b,0.25,-1\n",
        b't;option;context.x;value;std\n1;"a";0,5;1,5;0,1\n',
        b"option\tcontext.x\tsuccesses\ttrials\na\t0.5\t3\t10\n",
    ]


SEEDS: Mapping[str, Callable[[], Sequence[bytes]]] = {
    "archive": _archives,
    "codec": _codecs,
    "tables": _tables,
}
TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "archive": read_archive,
    "codec": read_codec,
    "tables": read_table,
}
