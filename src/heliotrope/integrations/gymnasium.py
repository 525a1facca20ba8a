"""Gymnasium: the worlds of the suite as environments.

Importing this module registers every problem of the suite: ``peaks/steady`` is
``heliotrope/peaks-steady-v0``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from heliotrope.domains import Box, Finite
from heliotrope.errors import InputError, requires_extra
from heliotrope.lab.environments import Place, suite
from heliotrope.validation import as_whole

with requires_extra("gymnasium"):
    import gymnasium as gym

__all__ = ["HeliotropeWorld"]

_Observation: TypeAlias = NDArray[np.float64]

_SEEDS = 2**31
_HORIZON = 300


class HeliotropeWorld(gym.Env[_Observation, Any]):
    """A world of the suite, by the id of its problem: each step measures one place.

    The reward is the noisy value. The action is the number of a place in a finite world, and a
    point in a box. The observation is the time as a share of the horizon, the last place in the
    unit cube, and its value (0 at first). ``info`` has the time ``t`` of the next measurement and,
    after a step, ``value`` without noise, ``best`` and ``regret``. An episode is truncated after
    ``horizon`` steps. The seed of ``reset`` determines the world.

    Examples
    --------
    >>> env = gym.make("heliotrope/peaks-steady-v0", horizon=10)
    >>> observation, info = env.reset(seed=0)
    >>> _, reward, _, truncated, info = env.step(np.array([0.2, 0.6]))
    >>> truncated, info["regret"] > 0
    (False, True)
    """

    def __init__(
        self, problem: str, horizon: int = _HORIZON, data: str | Path | None = None
    ) -> None:
        self._world = suite.problem(problem).world(None if data is None else Path(data))
        self._horizon = as_whole(horizon, "horizon", least=1)
        domain = self._world.domain
        self._lower, self._widths = domain.lower, domain.widths
        self.action_space = _action_space(domain)
        d = domain.dimension
        low, high = np.full(d + 2, 0.0), np.full(d + 2, 1.0)
        low[-1], high[-1] = -np.inf, np.inf
        self.observation_space = gym.spaces.Box(low, high, dtype=np.float64)
        self._done = self._horizon  # steps of the episode that are over

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[_Observation, dict[str, Any]]:
        """Draw another world."""
        super().reset(seed=seed)
        self._episode = self._world.episode(self._horizon, int(self.np_random.integers(_SEEDS)))
        self._done = 0
        return np.zeros(self.observation_space.shape or ()), {"t": self._time()}

    def step(self, action: Any) -> tuple[_Observation, float, bool, bool, dict[str, Any]]:
        """Measure a place now."""
        if self._done >= self._horizon:
            raise InputError("a step of an episode", "its end", "Call reset().")
        place = self._place(action)
        step = self._episode.step(self._time(), place)
        self._done += 1
        truncated = self._done == self._horizon
        info = {"value": step.value, "best": step.best, "regret": step.regret}
        if not truncated:
            info["t"] = self._time()
        unit = (np.array(step.x) - self._lower) / self._widths
        seen = np.array([self._done / self._horizon, *np.clip(unit, 0.0, 1.0), step.y])
        return seen, step.y, False, truncated, info

    def _place(self, action: Any) -> Place:
        if not self.action_space.contains(action):
            raise InputError(f"an action of {self.action_space}", repr(action))
        return int(action) if isinstance(self._world.domain, Finite) else np.asarray(action)

    def _time(self) -> float:
        return float(self._episode.times[self._done])


def _action_space(domain: Finite | Box) -> gym.Space[Any]:
    if isinstance(domain, Finite):
        return gym.spaces.Discrete(len(domain))
    return gym.spaces.Box(domain.lower, domain.upper, dtype=np.float64)


for _id in suite.SUITE:
    gym.register(
        f"heliotrope/{_id.replace('/', '-')}-v0",
        entry_point=f"{__name__}:{HeliotropeWorld.__name__}",
        kwargs={"problem": _id},
    )
