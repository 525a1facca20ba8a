"""A league: who plays what, and the trials of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from heliotrope.errors import InputError
from heliotrope.lab.environments.suite import LogWindows, problem
from heliotrope.lab.league.matches import Contestant, Match, play
from heliotrope.lab.league.standings import YARDSTICK, Standings
from heliotrope.lab.trials import fingerprint, run_trials, trial_seed
from heliotrope.validation import as_positive, as_whole


@dataclass(frozen=True)
class Fixtures:
    """The matches of one contestant: trial by trial, every problem in turn."""

    contestant: Contestant
    problems: tuple[str, ...]
    horizon: int
    seed: int
    limit: float
    data: Path | None

    def __call__(self, number: int) -> Mapping[str, NDArray[Any]]:
        """Play one match; all contestants face the same world with the same noise in it."""
        trial, which = divmod(number, len(self.problems))
        seed = trial_seed(self.seed, trial)
        world = problem(self.problems[which]).world(self.data)
        episode = world.episode(self.horizon, seed)
        return play(self.contestant, episode, seed, self.limit).arrays()


@dataclass(frozen=True)
class League:
    """Every contestant on every problem, in paired trials.

    ``limit`` is the most processor time, in seconds, that a contestant may take for one episode of
    ``horizon`` steps. Of a measured table that is shorter, all is played. Somebody must choose at
    random, as the yardstick of the others.
    """

    problems: tuple[str, ...]
    contestants: tuple[Contestant, ...]
    trials: int = 4
    horizon: int = 150
    seed: int = 0
    limit: float = 120.0
    data: Path | None = None

    def __post_init__(self) -> None:
        for name, least in (("trials", 1), ("horizon", 2), ("seed", 0)):
            as_whole(getattr(self, name), name, least=least)
        as_positive(self.limit, "limit")
        names = [one.name for one in self.contestants]
        if len(set(names)) < len(names) or YARDSTICK not in names:
            raise InputError(f"contestants of different names, {YARDSTICK} among them", str(names))
        if not self.problems or len(set(self.problems)) < len(self.problems):
            raise InputError("different problems, at least one", str(self.problems))
        for id in self.problems:
            problem(id).world(self.data)  # which may be missing

    @property
    def matches(self) -> int:
        """How many there are."""
        return len(self.problems) * len(self.contestants) * self.trials

    def run(
        self,
        folder: str | os.PathLike[str],
        *,
        jobs: int = -1,
        cluster: str | None = None,
        tick: Callable[[str, int], object] | None = None,
    ) -> Standings:
        """Play all matches but those already in the folder.

        Matches are kept by contestant: more of them, or more trials, go on from there. ``tick`` is
        called with who plays and the number of finished matches of all; ``jobs`` and ``cluster``
        are those of :func:`~heliotrope.lab.trials.run_trials`.
        """
        each, played = len(self.problems) * self.trials, dict[str, Sequence[Match]]()
        for count, contestant in enumerate(self.contestants):
            name = contestant.name
            results = run_trials(
                self._fixtures(contestant),
                each,
                folder=Path(folder) / name,
                settings=self.settings(contestant),
                jobs=jobs,
                cluster=cluster,
                tick=partial(_report, tick, name, count * each),
            )
            played[name] = [Match.of(result) for result in results]
        return Standings.of(self.problems, played)

    def settings(self, contestant: Contestant) -> Mapping[str, object]:
        """Everything that a contestant's matches depend on but their numbers."""
        worlds = {id: problem(id).world(self.data) for id in self.problems}
        return {
            "contestant": dict(contestant.settings()),
            "problems": list(self.problems),
            "horizon": self.horizon,
            "seed": self.seed,
            "limit": self.limit,
            "tables": {
                id: fingerprint(world.values)
                for id, world in worlds.items()
                if isinstance(world, LogWindows)
            },
        }

    def _fixtures(self, contestant: Contestant) -> Fixtures:
        return Fixtures(contestant, self.problems, self.horizon, self.seed, self.limit, self.data)


def _report(tick: Callable[[str, int], object] | None, name: str, before: int, done: int) -> None:
    if tick is not None:
        tick(name, before + done)
