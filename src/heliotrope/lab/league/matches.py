"""A match: one competitor in one episode, with its regret, time and memory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from heliotrope.domains import Domain
from heliotrope.lab.environments import Episode, Place
from heliotrope.validation import Array

_LONGEST_REASON = 160  # characters


class Player(Protocol):
    """An optimizer that plays one episode."""

    def ask(self, t: float, seconds: float) -> Place:
        """Choose a place at time t; TimeoutError if this takes much longer than ``seconds``."""

    def tell(self, t: float, place: Place, y: float, seconds: float) -> None:
        """Receive a measured value within ``seconds``."""

    def spent(self) -> float:
        """Seconds of processor time used so far."""

    def memory(self) -> float:
        """Bytes of its state, or NaN if unknown."""


class Competitor(Protocol):
    """A participant of a tournament; it must be picklable."""

    @property
    def name(self) -> str:
        """Name in the tables."""

    def settings(self) -> Mapping[str, object]:
        """Everything that its matches depend on, as JSON values."""

    def player(self, domain: Domain, seed: int) -> AbstractContextManager[Player]:
        """Start a player for one episode."""


@dataclass(frozen=True, eq=False)
class Match:
    """Regret and processor seconds of each step, (n,), and bytes of memory at the end.

    ``steps`` is the length of the episode; ``failure`` is empty if the match was finished.
    """

    regret: Array
    seconds: Array
    steps: int
    memory: float = np.nan
    failure: str = ""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The match as a trial's result."""
        return {name: np.asarray(value) for name, value in vars(self).items()}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Match:
        """The match from its :meth:`arrays`."""
        return cls(
            arrays["regret"],
            arrays["seconds"],
            int(arrays["steps"]),
            float(arrays["memory"]),
            str(arrays["failure"]),
        )


def play_match(competitor: Competitor, episode: Episode, seed: int, limit: float) -> Match:
    """Let a competitor play an episode within a limit of processor seconds.

    An exception ends the match, which records it.
    """
    regret, seconds = list[float](), list[float]()
    try:
        with competitor.player(episode.domain, seed) as player:
            for t in episode.times.tolist():
                one = _Step(player, episode, t, limit - sum(seconds))
                regret.append(one.regret)
                seconds.append(one.seconds)
            memory = player.memory()
    except Exception as error:  # a failure is a result: the other matches go on
        return _match(regret, seconds, episode, failure=_reason(error, len(regret), limit))
    return _match(regret, seconds, episode, memory=memory)


class _Step:
    """One step, with the player's processor time."""

    def __init__(self, player: Player, episode: Episode, t: float, left: float) -> None:
        before = player.spent()
        place = player.ask(t, left)
        asked = player.spent() - before
        self.regret = episode.regret(t, place)
        y, before = episode.measure(t, place), player.spent()
        player.tell(t, place, y, left - asked)
        self.seconds = asked + player.spent() - before
        if self.seconds > left:
            raise TimeoutError


def _match(
    regret: list[float],
    seconds: list[float],
    episode: Episode,
    memory: float = np.nan,
    failure: str = "",
) -> Match:
    return Match(np.array(regret), np.array(seconds), episode.horizon, memory, failure)


def _reason(error: Exception, steps: int, limit: float) -> str:
    if isinstance(error, TimeoutError):
        return f"after {steps} steps: exceeded the limit of {limit:g} s"
    first = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"after {steps} steps: {first}"[:_LONGEST_REASON]
