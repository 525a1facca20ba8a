"""Files: loading restores what was saved, and refuses all other files."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

import heliotrope as ht
from heliotrope.errors import FormatError, InputError, MissingFileError
from heliotrope.memory import Restart
from heliotrope.policies import GPPolicy, Policy
from heliotrope.posterior import BoxEngine, BoxOptions, DenseOptions, FiniteOptions
from heliotrope.serialization import archive
from strategies import (
    PRIOR,
    VALUES,
    ask_of,
    assert_same,
    belief_of,
    fingerprint,
    fixed,
    history_of,
    play,
    refusal,
    smooth_time,
    square,
)

GRID, BOX = ht.grid(5, 5), square()
TABLE = ht.Tabulated(np.exp(-np.abs(np.subtract.outer(np.arange(25.0), np.arange(25.0)))))


def tracking(space: Any, **others: Any) -> GPPolicy:
    return ht.tv_gp_ucb(ht.Prior(space, ht.Forgetting(0.05), **others))


CASES: dict[str, tuple[ht.Finite | ht.Box, Policy]] = {
    "finite": (GRID, ht.tv_gp_ucb(PRIOR)),
    "finite, options": (GRID, ht.tv_gp_ucb(PRIOR, engine=FiniteOptions(1e-6))),
    "box": (BOX, ht.tv_gp_ucb(PRIOR)),
    "box, small budget": (BOX, ht.tv_gp_ucb(PRIOR, engine=BoxOptions(budget=6))),
    "box on a line": (ht.Box(-0.9, 0.2), ht.tv_gp_ucb(PRIOR)),
    "dense": (GRID, ht.tv_gp_ucb(smooth_time())),
    "dense, window": (GRID, ht.tv_gp_ucb(PRIOR, engine=DenseOptions(window=5))),
    "dense box": (BOX, ht.tv_gp_ucb(smooth_time())),
    "reference": (GRID, ht.tv_gp_ucb(PRIOR, engine="reference")),
    "reference box": (BOX, ht.tv_gp_ucb(PRIOR, engine="reference")),
    "gp_ucb": (GRID, ht.gp_ucb(PRIOR, ht.acquisition.TVBeta(0.1, 2))),
    "r_gp_ucb": (GRID, ht.r_gp_ucb(PRIOR, 7, ht.acquisition.RBeta(0.2, 2))),
    "r_gp_ucb in a box": (BOX, ht.r_gp_ucb(PRIOR, 2.5, 3.0)),
    "composed": (GRID, GPPolicy(PRIOR, ht.UCB(2.0), Restart(4), first="random")),
    "Matern": (GRID, tracking(Matern(0.3, nu=2.5))),
    "Matern, nu infinite": (BOX, tracking(Matern(0.3, nu=np.inf))),
    "anisotropic": (BOX, tracking(RBF([0.2, 0.6]))),
    "anisotropic array": (GRID, tracking(Matern(np.array([0.2, 0.6]), nu=1.5))),
    "composition": (
        GRID,
        tracking(ConstantKernel(2.0) * RBF(0.4) + Exponentiation(RationalQuadratic(0.5, 2.0), 2)),
    ),
    "white": (GRID, tracking(RBF(0.3) + WhiteKernel(0.2))),
    "not stationary": (GRID, tracking(DotProduct(1.0) + RBF(0.5, "fixed"))),
    "table": (GRID, tracking(TABLE)),
    "mean vector": (GRID, tracking(RBF(0.3), mean=np.linspace(-1.0, 1.0, 25))),
    "first index": (GRID, ht.tv_gp_ucb(PRIOR, first=np.int64(3))),
    "first point": (BOX, ht.tv_gp_ucb(PRIOR, first=[0.25, 0.5])),
    "points that coincide": (ht.Finite(np.zeros(25)), tracking(TABLE, mean=np.arange(25.0))),
}


def reloaded(optimizer: ht.Optimizer, folder: Path) -> ht.Optimizer:
    optimizer.save(folder / "optimizer")
    return ht.Optimizer.load(folder / "optimizer")


@pytest.mark.parametrize(("domain", "policy"), CASES.values(), ids=CASES)
def test_a_new_optimizer_can_be_saved(
    domain: ht.Finite | ht.Box, policy: Policy, tmp_path: Path
) -> None:
    saved = ht.Optimizer(domain, policy, seed=11)
    loaded = reloaded(saved, tmp_path)
    assert fingerprint(loaded) == fingerprint(saved)
    assert ask_of(loaded.ask()) == ask_of(saved.ask())


@pytest.mark.parametrize(("domain", "policy"), CASES.values(), ids=CASES)
def test_a_loaded_optimizer_continues_as_the_saved_one(
    domain: ht.Finite | ht.Box, policy: Policy, tmp_path: Path
) -> None:
    saved = play(ht.Optimizer(domain, policy, seed=11), steps=8)
    loaded = reloaded(saved, tmp_path)
    assert fingerprint(loaded) == fingerprint(saved)
    assert history_of(loaded) == history_of(saved)
    assert [ask_of(s) for s in loaded.open] == [ask_of(s) for s in saved.open]
    for step in range(20):
        one, other = saved.ask(), loaded.ask()
        assert ask_of(one) == ask_of(other)
        if step % 4:
            saved.tell(one, float(np.cos(step)))
            loaded.tell(other, float(np.cos(step)))
    if saved.domain.dimension == 2:
        np.testing.assert_array_equal(belief_of(loaded), belief_of(saved))
    assert fingerprint(loaded) == fingerprint(saved)


def test_a_restored_box_prunes_when_the_first_one_does() -> None:
    smooth = ht.Prior(RBF(2.0), ht.Forgetting(0.2), 0.05)  # few points carry all there is
    first, again = (BoxEngine(smooth, BOX, budget=40) for _ in range(2))
    places = BOX.scaled(np.random.default_rng(0).random((90, 1, 2)))
    for step, place in enumerate(places):
        if step == 60:
            again.restore(first.state())
        for engine in (first, again) if step >= 60 else (first,):
            engine.open(step, float(step), place)
            engine.tell(step, float(np.cos(step)))
    assert len(first.state()["points/B"]) < 40
    for name, array in first.state().items():
        np.testing.assert_array_equal(again.state()[name], array)


def test_the_uniform_policy_continues_too(tmp_path: Path) -> None:
    saved = play(ht.Optimizer(GRID, ht.uniform(), seed=5))
    loaded = reloaded(saved, tmp_path)
    assert [ask_of(s) for s in loaded.open] == [ask_of(s) for s in saved.open]
    assert [loaded.ask().index for _ in range(9)] == [saved.ask().index for _ in range(9)]


def test_a_suggestion_outlives_the_optimizer_that_made_it(tmp_path: Path) -> None:
    saved = ht.Optimizer(BOX, ht.tv_gp_ucb(PRIOR))
    suggestion = saved.ask()
    loaded = reloaded(saved, tmp_path)
    for optimizer in (saved, loaded):
        optimizer.tell(suggestion, 1.0)
    assert_same(saved, loaded)


@pytest.mark.parametrize("name", ["optimizer", "optimizer.npz", "o.t.zip", "ö ü"])
def test_the_file_has_the_name_that_was_given(name: str, tmp_path: Path) -> None:
    ht.Optimizer(GRID, ht.uniform()).save(str(tmp_path / name))
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_holds_plain_arrays_and_json(tmp_path: Path) -> None:
    play(ht.Optimizer(GRID, ht.tv_gp_ucb(PRIOR))).save(tmp_path / "file")
    with np.load(tmp_path / "file", allow_pickle=False) as entries:
        arrays = {name: entries[name] for name in entries.files}
    assert all(array.dtype.kind in "biuf" for array in arrays.values())
    header = json.loads(arrays["header"].tobytes())
    assert header["format"] == "heliotrope"
    assert header["version"] == 1


# Files that are no saved optimizers


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Path]:
    """The bytes of a small file, and a place to put spoilt ones."""
    folder = tmp_path_factory.mktemp("files")
    play(small()).save(folder / "whole")
    return (folder / "whole").read_bytes(), folder / "spoilt"


def small() -> ht.Optimizer:
    return ht.Optimizer(ht.grid(2, 2), ht.tv_gp_ucb(PRIOR), seed=2)


@given(share=st.floats(0.0, 1.0, exclude_max=True))
@fixed(60)
def test_a_truncated_file(whole: tuple[bytes, Path], share: float) -> None:
    data, path = whole
    path.write_bytes(data[: int(share * len(data))])
    with refusal(FormatError):
        ht.Optimizer.load(path)


@given(share=st.floats(0.0, 1.0, exclude_max=True), flip=st.integers(1, 255))
@fixed(150)
def test_a_flipped_byte(whole: tuple[bytes, Path], share: float, flip: int) -> None:
    """The damage is detected, or has no effect (in a date of the zip)."""
    data, path = whole
    spoilt = bytearray(data)
    spoilt[int(share * len(data))] ^= flip
    path.write_bytes(spoilt)
    loaded = loaded_or_refused(path)
    assert loaded is None or fingerprint(loaded) == fingerprint(play(small()))


def loaded_or_refused(path: Path) -> ht.Optimizer | None:
    try:
        return ht.Optimizer.load(path)
    except FormatError:
        return None


def write_text(path: Path) -> None:
    path.write_text("t,x,y\n1,0.5,2.0\n")


def write_npz(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, a=np.zeros(3))


def write_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("readme.txt", "hello")


def write_npy(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def write_pickle(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, header=np.array([{"format": "heliotrope"}], dtype=object))


def write_json(path: Path) -> None:
    header = np.frombuffer(b'["heliotrope", 1]', dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, header=header)


@pytest.mark.parametrize(
    "write",
    [Path.touch, write_text, write_npz, write_zip, write_npy, write_pickle, write_json],
    ids=["empty", "text", "npz", "zip", "npy", "pickle", "json of no header"],
)
def test_a_foreign_file(write: Callable[[Path], None], tmp_path: Path) -> None:
    write(tmp_path / "file")
    with pytest.raises(FormatError, match=r"expected a .*heliotrope file; got .*file"):
        ht.Optimizer.load(tmp_path / "file")


def rewritten(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Save an optimizer with another header, whose checksum is right."""
    header, arrays = play(small()).parts()
    change(header)
    path.write_bytes(archive.pack(header, arrays))


PARTS = {
    "setup": ["domain", "direction", "policy", "seed", "live", "names", "policies"],
    "snapshot": ["asked", "latest", "open", "visible", "failures", "tracker"],
}
KEYS = ["format", "version", *PARTS, *(key for keys in PARTS.values() for key in keys)]


def holder(header: dict[str, Any], key: str) -> dict[str, Any]:
    """The part of a header that has this key."""
    return next((header[part] for part, keys in PARTS.items() if key in keys), header)


wrong: list[Any] = [None, "x", [1], {}, {"$type": "Unknown"}, {"$kernel": "RBF"}, {"$array": "no"}]


def test_the_header_has_these_keys(tmp_path: Path) -> None:
    header = dict[str, Any]()
    rewritten(tmp_path / "file", header.update)
    assert list(header) == ["format", "version", "setup", "events", "snapshot"]
    assert {part: list(header[part]) for part in PARTS} == PARTS


def test_a_rewritten_header_is_read(tmp_path: Path) -> None:
    rewritten(tmp_path / "file", dict.copy)
    assert_same(ht.Optimizer.load(tmp_path / "file"), play(small()))


@pytest.mark.parametrize("key", KEYS)
def test_a_header_without_a_key(key: str, tmp_path: Path) -> None:
    rewritten(tmp_path / "file", lambda header: holder(header, key).pop(key))
    with refusal(FormatError):
        ht.Optimizer.load(tmp_path / "file")


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", wrong, ids=json.dumps)
def test_a_header_with_a_wrong_value(key: str, value: Any, tmp_path: Path) -> None:
    """It is refused, or is the same optimizer: what is wrong had no effect on it."""
    rewritten(tmp_path / "file", lambda header: holder(header, key).update({key: value}))
    loaded = loaded_or_refused(tmp_path / "file")
    assert loaded is None or fingerprint(loaded) == fingerprint(play(small()))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("open", []),
        ("open", [["four", 5.0]]),
        ("open", [[4, "five"]]),
        ("open", [[4]]),
        ("asked", -1),
        ("asked", 1.5),
        ("seed", -1),
        ("latest", {"$float": "late"}),
        ("domain", {"$type": "Box", "lower": [1, 1], "upper": [0, 0]}),
        ("domain", {"$type": "Static"}),
        ("policy", {"$type": "Uniform", "seed": 3}),
        ("policy", {"$type": "GPPolicy"}),
    ],
)
def test_a_header_that_does_not_fit_the_arrays(key: str, value: Any, tmp_path: Path) -> None:
    rewritten(tmp_path / "file", lambda header: holder(header, key).update({key: value}))
    with refusal(FormatError):
        ht.Optimizer.load(tmp_path / "file")


@pytest.mark.parametrize("version", [0, 2, 7])
def test_another_version(version: int, tmp_path: Path) -> None:
    rewritten(tmp_path / "file", lambda header: header.update(version=version))
    advice = rf"version 1; got version {version}\. Open it with the version of heliotrope that"
    with pytest.raises(FormatError, match=advice):
        ht.Optimizer.load(tmp_path / "file")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"an existing file; got .*nothing") as raised:
        ht.Optimizer.load(tmp_path / "nothing")
    assert isinstance(raised.value, FileNotFoundError)


# Saving that fails


class Own(RBF):  # type: ignore[misc]  # scikit-learn has no types
    """A kernel that no other process would find."""


def test_a_custom_kernel_keeps_the_older_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    small().save(path)
    older = path.read_bytes()
    with refusal(InputError):
        ht.Optimizer(GRID, tracking(Own(0.3))).save(path)
    assert path.read_bytes() == older
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_while_writing_leaves_the_older_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    small().save(path)
    older = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space left"):
        play(small()).save(path)
    assert path.read_bytes() == older
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"in an existing folder; got .*nowhere"):
        small().save(tmp_path / "nowhere" / "file")
    assert list(tmp_path.iterdir()) == []


def test_a_newer_save_replaces_the_older(tmp_path: Path) -> None:
    optimizer = small()
    optimizer.save(tmp_path / "file")
    play(optimizer)
    optimizer.tell(4, VALUES[4])
    assert_same(reloaded(optimizer, tmp_path), optimizer)


@pytest.mark.parametrize("path", [None, 5, ""])
def test_what_is_no_path_is_refused(path: Any) -> None:
    for call in (lambda: ht.Optimizer.load(path), lambda: saved().save(path)):
        with pytest.raises(InputError, match="the path of a file"):
            call()


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder"):
        saved().save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def saved() -> ht.Optimizer:
    return ht.Optimizer(domain := ht.grid(3), ht.auto(domain))
