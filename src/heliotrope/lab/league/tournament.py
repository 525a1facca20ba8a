"""A tournament: every competitor on every problem, in paired trials."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from heliotrope.errors import InputError
from heliotrope.lab.environments.suite import LogWindows, Relays, problem
from heliotrope.lab.league.matches import Competitor, Match, play_match
from heliotrope.lab.league.standings import Standings
from heliotrope.lab.trials import fingerprint, run_trials, trial_seed
from heliotrope.policies.registry import BASELINE
from heliotrope.validation import as_positive, as_whole


@dataclass(frozen=True)
class MatchTrial:
    """The matches of one competitor: trial by trial, problems varying fastest."""

    competitor: Competitor
    problems: tuple[str, ...]
    horizon: int
    seed: int
    limit: float
    data: Path | None

    def __call__(self, number: int) -> Mapping[str, NDArray[Any]]:
        """Play one match; all competitors face the same world and noise."""
        trial, which = divmod(number, len(self.problems))
        seed = trial_seed(self.seed, trial)
        world = problem(self.problems[which]).world(self.data)
        episode = world.episode(self.horizon, seed)
        return play_match(self.competitor, episode, seed, self.limit).arrays()


@dataclass(frozen=True)
class Tournament:
    """Every competitor on every problem, in paired trials.

    ``limit`` is the processor time in seconds that a competitor may take for one episode of
    ``horizon`` steps. A shorter measured table is played as a whole. One competitor must choose at
    random, as the baseline.
    """

    problems: tuple[str, ...]
    competitors: tuple[Competitor, ...]
    trials: int = 4
    horizon: int = 150
    seed: int = 0
    limit: float = 120.0
    data: Path | None = None

    def __post_init__(self) -> None:
        for name, least in (("trials", 1), ("horizon", 2), ("seed", 0)):
            as_whole(getattr(self, name), name, least=least)
        as_positive(self.limit, "limit")
        names = [one.name for one in self.competitors]
        if len(set(names)) < len(names) or BASELINE.name not in names:
            raise InputError(
                f"competitors with different names, including {BASELINE.name}", str(names)
            )
        if not self.problems or len(set(self.problems)) < len(self.problems):
            raise InputError("at least one problem, each once", str(self.problems))
        for id in self.problems:
            problem(id).world(self.data)  # fails if its table is missing

    @property
    def matches(self) -> int:
        """Number of matches."""
        return len(self.problems) * len(self.competitors) * self.trials

    def run(
        self,
        folder: str | os.PathLike[str],
        *,
        jobs: int = -1,
        cluster: str | None = None,
        tick: Callable[[str, int], object] | None = None,
    ) -> Standings:
        """Play all matches that are not yet saved in the folder.

        Matches are saved by competitor: a run with more competitors or trials reuses them. ``tick``
        is called with the competitor's name and the number of finished matches; ``jobs`` and
        ``cluster`` are those of :func:`~heliotrope.lab.trials.run_trials`.
        """
        each, played = len(self.problems) * self.trials, dict[str, Sequence[Match]]()
        for count, competitor in enumerate(self.competitors):
            name = competitor.name
            results = run_trials(
                self._trial(competitor),
                each,
                folder=Path(folder) / name,
                settings=self.settings(competitor),
                jobs=jobs,
                cluster=cluster,
                tick=partial(_report, tick, name, count * each),
            )
            played[name] = [Match.of(result) for result in results]
        return Standings.of(self.problems, played)

    def settings(self, competitor: Competitor) -> Mapping[str, object]:
        """Everything that a competitor's matches depend on except their numbers."""
        worlds = {id: problem(id).world(self.data) for id in self.problems}
        return {
            "contestant": dict(competitor.settings()),
            "problems": list(self.problems),
            "horizon": self.horizon,
            "seed": self.seed,
            "limit": self.limit,
            "tables": {
                id: fingerprint(world.values)
                for id, world in worlds.items()
                if isinstance(world, (LogWindows, Relays))
            },
        }

    def _trial(self, competitor: Competitor) -> MatchTrial:
        return MatchTrial(competitor, self.problems, self.horizon, self.seed, self.limit, self.data)


def _report(tick: Callable[[str, int], object] | None, name: str, before: int, done: int) -> None:
    if tick is not None:
        tick(name, before + done)
