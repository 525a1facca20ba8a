"""Seasons of studies: given, or those of the clock."""

from __future__ import annotations

import numpy as np
import pytest

import heliotrope as ht
from heliotrope.errors import InputError
from studies import Watch

SPACE = ht.SearchSpace({"x": ht.Real(0.0, 1.0)})
HOURS = "1h"


def wave(t: float, x: float) -> float:
    """A wave of one day whose best place moves from one end to the other."""
    return 2.0 * float(np.cos(2.0 * np.pi * t / 24.0) * (x - 0.5)) + float(np.sin(np.pi * t / 12.0))


def run(study: ht.Study, watch: Watch, hours: int = 96) -> None:
    rng = np.random.default_rng(1)
    for t in range(1, hours + 1):
        watch.seconds = 3600.0 * t
        ask = study.ask()
        study.tell(ask, wave(t, float(ask.params["x"])) + 0.05 * rng.standard_normal())


def test_the_clock_suggests_a_day() -> None:
    watch = Watch(0.0)
    study = ht.Study.create("s", SPACE, clock=HOURS, store="memory:", seed=0, now=watch)
    run(study, watch)
    summary = study.summary()
    world = summary["model"]["world"]
    assert world["period"] * summary["model"]["pace"] == pytest.approx(24.0)
    assert "returns every 1 d" in summary["drift"]["words"]


@pytest.mark.parametrize(("clock", "season"), [(HOURS, "24h"), (HOURS, 24), (None, 24.0)])
def test_a_season_can_be_given(clock: str | None, season: object) -> None:
    policy, watch = {"season": season}, Watch(0.0)
    study = ht.Study.create(
        "s", SPACE, policy=policy, clock=clock, store="memory:", seed=0, now=watch
    )
    assert study.config.policy.to_json() == {"kind": "auto", "season": season}
    run(study, watch, 20)
    world = study.summary()["model"]["world"]
    assert world["period"] * study.summary()["model"]["pace"] == pytest.approx(24.0)


@pytest.mark.parametrize("season", ["24h", 0, -3.0, "soon", [24], 1e-9])
def test_a_wrong_season_is_refused(season: object) -> None:
    with pytest.raises(InputError) as caught:
        ht.Study.create("s", SPACE, policy={"season": season}, store="memory:")
    assert caught.value.field == "policy.season"
