"""Power loss: a file system that forgets what was not synced, at any moment of a run.

A library that records all writes and syncs is loaded into a process that writes to a store. From
the record, the disk is rebuilt as a power loss would leave it: synced writes are there, and of the
others any part, in any order. Every event that was acknowledged before must be there.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from heliotrope.errors import HeliotropeError
from heliotrope.storage import open_store

SOURCE = Path(__file__).parent / "record_writes.c"
EVENTS = 120
FILLER = 60_000  # bytes of an event: several checkpoints happen
LOSSES = 60

WRITER = f"""
import os, sys
from heliotrope.storage import Append, open_store
folder = sys.argv[1]
store = open_store(f"sqlite:///{{folder}}/store.db")
acks = os.open(f"{{folder}}/acks", os.O_WRONLY | os.O_CREAT)
uid = store.create("pump", {{}}, at=0.0)
os.write(acks, b".")
for number in range(1, {EVENTS}):
    body = {{"n": number, "x": "y" * {FILLER}}}
    assert store.append([Append(uid, number, [body])]) == [number + 1]
    os.write(acks, b".")
    if number % 25 == 0:
        store.keep_snapshot(uid, number, b"z" * {FILLER})
os._exit(0)
"""


@dataclass(frozen=True)
class Record:
    """A write (W), truncation (T), sync (S, D: of the folder), or new or removed name (N, U)."""

    kind: str
    inode: int
    offset: int
    length: int
    name: str
    data: bytes = b""


@dataclass
class Disk:
    """Files as they are, as they were synced, and the writes between."""

    files: dict[int, bytearray] = field(default_factory=dict)
    synced: dict[int, bytes] = field(default_factory=dict)
    pending: dict[int, list[Record]] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    synced_names: dict[str, int] = field(default_factory=dict)

    def do(self, record: Record) -> None:
        if record.kind in "WTS":
            self.names.setdefault(record.name, record.inode)
        if record.kind in "WT":
            change(self.files.setdefault(record.inode, bytearray()), record)
            self.pending.setdefault(record.inode, []).append(record)
        elif record.kind == "S":
            self.synced[record.inode] = bytes(self.files.get(record.inode, b""))
            self.pending[record.inode] = []
        elif record.kind == "D":
            self.synced_names = dict(self.names)
        elif record.kind == "N":
            self.names[record.name] = record.inode
        elif record.kind == "U":
            self.names.pop(record.name, None)

    def lose_power(self, folder: Path, rng: random.Random) -> None:
        """Write what is left to a folder."""
        names = self.synced_names if rng.random() < 0.5 else {**self.synced_names, **self.names}
        for name, inode in names.items():
            content = bytearray(self.synced.get(inode, b""))
            share = rng.choice([0.0, 0.5, 1.0])
            for record in self.pending.get(inode, []):
                if rng.random() < share:
                    change(content, record)
            (folder / name).write_bytes(content)


def change(content: bytearray, record: Record) -> None:
    end = record.length if record.kind == "T" else record.offset + record.length
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    if record.kind == "T":
        del content[end:]
    else:
        content[record.offset : end] = record.data


def read_records(path: Path) -> Iterator[Record]:
    with path.open("rb") as log:
        while line := log.readline():
            kind, inode, offset, length, name = line.decode().rstrip("\n").split(" ", 4)
            data = log.read(int(length)) if kind == "W" else b""
            yield Record(kind, int(inode), int(offset), int(length), name, data)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Record]:
    if not sys.platform.startswith("linux") or shutil.which("gcc") is None:
        pytest.skip("the recorder of writes needs Linux and gcc")
    place = tmp_path_factory.mktemp("power")
    library, folder, log = place / "record.so", place / "store", place / "log"
    folder.mkdir()
    options = ["-shared", "-fPIC", "-O1", "-w"]
    subprocess.run(["gcc", *options, "-o", library, SOURCE, "-ldl", "-lpthread"], check=True)
    environment = {"LD_PRELOAD": library, "RECORD_FOLDER": folder, "RECORD_LOG": log}
    subprocess.run(
        [sys.executable, "-c", WRITER, folder],
        env={**os.environ, **{key: str(value) for key, value in environment.items()}},
        check=True,
        timeout=300,
    )
    return list(read_records(log))


def acknowledged(records: Sequence[Record]) -> int:
    return sum(record.name == "acks" for record in records)


def test_the_record_is_complete(records: Sequence[Record]) -> None:
    """Otherwise the test below would prove nothing."""
    kinds = {(record.kind, record.name) for record in records}
    assert {("W", "store.db-wal"), ("S", "store.db-wal"), ("D", "."), ("N", "store.db")} <= kinds
    assert {("W", "store.db"), ("S", "store.db")} <= kinds  # checkpoints
    assert acknowledged(records) == EVENTS


@pytest.mark.parametrize("seed", range(LOSSES // 10))
def test_nothing_acknowledged_is_lost(records: Sequence[Record], tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    moments = sorted(rng.randrange(len(records)) for _ in range(10))
    disk, done = Disk(), 0
    for number, moment in enumerate(moments):
        for record in records[done:moment]:
            disk.do(record)
        done = moment
        folder = tmp_path / str(number)
        folder.mkdir()
        disk.lose_power(folder, rng)
        assert events_left(folder) >= acknowledged(records[:moment])


def test_an_unsynced_log_would_be_noticed(records: Sequence[Record], tmp_path: Path) -> None:
    """The same disk loses events if syncs do nothing: the model of the disk is not too kind."""
    disk = Disk()
    for record in records:
        if record.kind != "S" or record.name != "store.db-wal":
            disk.do(record)
    disk.synced_names = dict(disk.names)
    disk.lose_power(tmp_path, _Nothing())
    assert events_left(tmp_path) < EVENTS


class _Nothing(random.Random):
    """Keeps no write that was not synced."""

    def choice(self, options: Sequence[float]) -> float:  # type: ignore[override]
        return options[0]


def events_left(folder: Path) -> int:
    """The events that are found after a power loss; -1 if the store cannot be read."""
    (folder / "acks").unlink(missing_ok=True)
    if not (folder / "store.db").exists():
        return 0
    try:
        with closing(open_store(f"sqlite:///{folder}/store.db")) as store:
            found = store.studies()
            if not found:
                return 0
            events = store.events(found[0].uid)
    except HeliotropeError:  # such as damage
        return -1
    assert [event.body.get("n", 0) for event in events] == list(range(len(events)))
    return len(events)
