"""A match: one contestant in one episode, with its regret, its time and its memory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from heliotrope.domains import Domain
from heliotrope.lab.environments import Episode
from heliotrope.lab.environments import Place as Where
from heliotrope.validation import Array

_LONGEST_REASON = 160  # characters


class Player(Protocol):
    """One who plays: asked where to measure, told what came."""

    def ask(self, t: float, seconds: float) -> Where:
        """Choose a place at time t; TimeoutError rather than take far more than the seconds."""

    def tell(self, t: float, place: Where, y: float, seconds: float) -> None:
        """Take what was measured, within the seconds."""

    def spent(self) -> float:
        """Seconds of processor time that it has used so far."""

    def memory(self) -> float:
        """Bytes of all that it keeps, or NaN."""


class Contestant(Protocol):
    """One who takes part in a league; it can be pickled."""

    @property
    def name(self) -> str:
        """Name in the table."""

    def settings(self) -> Mapping[str, object]:
        """Everything that its play depends on, as JSON has it."""

    def player(self, domain: Domain, seed: int) -> AbstractContextManager[Player]:
        """Someone to play one episode."""


@dataclass(frozen=True, eq=False)
class Match:
    """Regret and processor seconds of each step, (n,); bytes kept at the end; why it broke off.

    ``steps`` is how many there were to play; ``failure`` is empty if all were.
    """

    regret: Array
    seconds: Array
    steps: int
    memory: float = np.nan
    failure: str = ""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """As a trial's result."""
        return {name: np.asarray(value) for name, value in vars(self).items()}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Match:
        """What :meth:`arrays` gave, again."""
        return cls(
            arrays["regret"],
            arrays["seconds"],
            int(arrays["steps"]),
            float(arrays["memory"]),
            str(arrays["failure"]),
        )


def play(contestant: Contestant, episode: Episode, seed: int, limit: float) -> Match:
    """Let a contestant track an episode within a limit of processor seconds for all its steps.

    Whatever it raises ends the match, and is in it.
    """
    regret, seconds = list[float](), list[float]()
    try:
        with contestant.player(episode.domain, seed) as player:
            for t in episode.times.tolist():
                one = _Step(player, episode, t, limit - sum(seconds))
                regret.append(one.regret)
                seconds.append(one.seconds)
            memory = player.memory()
    except Exception as error:  # whoever fails is in the table, and the others play on
        return _match(regret, seconds, episode, failure=_reason(error, len(regret), limit))
    return _match(regret, seconds, episode, memory=memory)


class _Step:
    """One step, with the processor time that the player took for it."""

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
        return f"after {steps} steps the {limit:g} s were over"
    first = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"after {steps} steps: {first}"[:_LONGEST_REASON]
