"""Limits on real data: the highest speed is sought, and low speeds must not be chosen.

Windows of 150 steps of the tables of the I-5 and of Los Angeles. The limit is the 20 % quantile of
the window's speeds, and the search starts from a sensor above the median. ``auto`` plays with and
without the limit. The tables are those of the league, whose folder HELIOTROPE_DATA names. A run
continues where the last one ended.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

import numpy as np

import heliotrope as ht
from benchmarks.kept import Kept
from benchmarks.report import Finding
from heliotrope.lab.environments import FiniteEpisode
from heliotrope.lab.environments.suite.problems import problem
from heliotrope.live import Live

TABLES, WINDOWS, HORIZON, FIRST_SEED, RISK = ("i5", "metrla"), 12, 150, 60_000, 0.05


def play(table: str, seed: int, limited: bool) -> tuple[float, float]:
    """The share of steps below the limit, and the regret against the best speed."""
    episode = problem(f"table/{table}").world().episode(HORIZON, FIRST_SEED + seed)
    assert isinstance(episode, FiniteEpisode)
    values, domain = episode.values, episode.domain
    limit = float(np.quantile(values, 0.2))
    start = int(np.argsort(values[0])[int(0.6 * len(domain))])
    limits = {"value": {"at_least": limit}} if limited else None
    live = Live(limits=limits, safe=[start], risk=RISK)
    opt = ht.Optimizer(domain, ht.auto(domain), seed=seed, live=live)
    for step in range(HORIZON):
        ask = opt.ask()
        opt.tell(ask, {"value": float(values[step, ask.index])})
    got = values[np.arange(HORIZON), opt.history.index]
    return float(np.mean(got < limit)), float(np.mean(values.max(axis=1) - got))


def findings(windows: int = WINDOWS) -> Iterator[Finding]:
    kept = Kept("tables")
    for table in TABLES:
        runs = {
            limited: np.array(
                [
                    kept.get((table, seed, limited), partial(play, table, seed, limited))
                    for seed in range(windows)
                ]
            ).mean(axis=0)
            for limited in (True, False)
        }
        (crossed, regret), (free, least) = runs[True], runs[False]
        yield Finding(
            f"{table}: at most {RISK} of the steps are below the limit",
            f"{crossed:.3f} with a regret of {regret:.2f}; without the limit {free:.3f} with "
            f"{least:.2f} ({windows} windows)",
            bool(crossed <= RISK),
        )


if __name__ == "__main__":
    for found in findings(int(sys.argv[1]) if len(sys.argv) > 1 else WINDOWS):
        print(f"{'yes' if found.holds else 'NO ':3} {found.claim}: {found.measured}", flush=True)
