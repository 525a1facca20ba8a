"""Drawn servers: closed queueing models that answer as a server would."""

from __future__ import annotations

import numpy as np
import pytest

from heliotrope.lab.environments.server import Load, Server
from heliotrope.spaces import Integer, SearchSpace

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_server_answers_at_most_what_its_clients_ask(seed: int) -> None:
    server = Server.drawn(seed)
    for load, performance in zip(server.loads, server.performances, strict=True):
        quickest = load.pause + server.overhead + (1.0 - server.saved) * server.each
        assert (performance.rate > 0.0).all()
        assert performance.rate.max() <= load.clients / quickest
        assert np.isfinite(performance.p99).all()
        assert performance.p99.min() > server.overhead


@pytest.mark.parametrize("seed", SEEDS)
def test_the_baseline_keeps_the_limit_under_all_loads_and_is_not_the_best(seed: int) -> None:
    server = Server.drawn(seed)
    i = server.index(server.baseline)
    for load, performance in enumerate(server.performances):
        assert performance.p99[i] <= server.limit
        assert server.baseline_rate(load) < server.best(load, limit=True)
        assert server.best(load, limit=True) <= server.best(load, limit=False)


def test_the_same_seed_draws_the_same_server() -> None:
    first, second = Server.drawn(7), Server.drawn(7)
    assert first.settings == second.settings
    assert first.loads == second.loads
    pairs = zip(first.performances, second.performances, strict=True)
    assert all(np.array_equal(one.rate, other.rate) for one, other in pairs)


def test_no_fixed_setting_is_best_for_all_loads() -> None:
    """That is what a tracker is for: over the drawn servers a fixed setting loses a tenth."""
    shares = []
    for seed in SEEDS:
        server = Server.drawn(seed)
        i = server.best_fixed(limit=False)
        rates = (
            server.performances[load].rate[i] / server.best(load, limit=False) for load in range(3)
        )
        shares.append(np.mean(list(rates)))
    assert np.mean(shares) < 0.9


def test_one_client_of_one_worker_waits_for_its_own_batch_alone() -> None:
    """The rate follows from its times; half a batch waits for half of the server's patience."""
    space = SearchSpace({"workers": Integer(1, 2), "batch": Integer(1, 2)})
    load = Load(clients=1, pause=0.1, busy=1.0, hot=1.0)
    times = {"overhead": 0.03, "each": 0.01, "contention": 0.0, "patience": 0.05}
    server = Server(space, (load,), **times, saved=0.0, memory=100.0, tail=1.5)
    alone = server.performances[0]
    for batch, seconds in ((1, 0.1 + 0.03 + 0.01), (2, 0.1 + 0.03 + 0.01 + 0.5 * 0.05)):
        i = server.index({"workers": 1, "batch": batch})
        assert alone.rate[i] == pytest.approx(1.0 / seconds, rel=0.01)
