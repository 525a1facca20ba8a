"""Commands to studies, drawn from a seed: most make sense, and some must be refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from heliotrope.study import Evaluation, Study
from heliotrope.study.command_fields import Command
from heliotrope.study.commands import (
    Add,
    Applied,
    Ask,
    Cancel,
    Heartbeat,
    Retime,
    Tell,
    as_choice,
)
from log_model import LogModel
from simulated_clients import Client
from studies import some_choice, some_context, some_result


def is_repeatable(command: Command[Any]) -> bool:
    """Whether a command may be sent again if its answer is in doubt."""
    ask = command.ask if isinstance(command, Tell) else command
    return not isinstance(ask, Ask | Add) or ask.key is not None


def counts_steps(study: Study) -> bool:
    return study.config.clock.at(0.0, 0.0) is None


class Commands:
    """Draws commands to some studies, knowing what their logs say."""

    def __init__(
        self, rng: Random, studies: Mapping[str, Study], models: Mapping[str, LogModel]
    ) -> None:
        self._rng, self._studies, self._models, self._count = rng, studies, models, 0
        self._verbs: Mapping[Callable[[Client, str], Command[Any]], int] = {
            self._ask: 8,
            self._tell: 8,
            self._add: 3,
            self._cancel: 2,
            self._heartbeat: 2,
            self._applied: 1,
            self._retime: 1,
            self._wrong: 2,
        }

    def draw(self, client: Client, name: str) -> Command[Any]:
        """A command of a client to a study."""
        (draw,) = self._rng.choices(list(self._verbs), list(self._verbs.values()))
        return draw(client, name)

    def _chance(self, chance: float, value: Any) -> Any:
        return value if self._rng.random() < chance else None

    def key(self) -> str:
        self._count += 1
        return f"k{self._count}"

    def _ask(self, client: Client, name: str) -> Ask:
        study = self._studies[name]
        steps, goals = counts_steps(study), study.config.goals is not None
        return Ask(
            t=self._chance(0.1, self._models[name].latest + self._rng.random()) if steps else None,
            context=some_context(study, self._rng),
            key=self._chance(0.6, self.key()),
            uid=self._chance(0.2, study.uid),
            lease=self._chance(0.3, self._rng.choice(("30s", "10min", "2h"))),
            cost=self._chance(0.1, 0.5) if goals else None,
        )

    def _tell(self, client: Client, name: str) -> Command[Any]:
        asked = self._one_of(client, name)
        if asked is None:
            return self._ask(client, name)
        study, following = self._studies[name], self._chance(0.3, self._ask(client, name))
        value, whole = some_result(study, self._rng), self._chance(0.5, asked) or asked.id
        std = dict.fromkeys(value, 0.5) if isinstance(value, dict) else 0.5
        noise = self._chance(0.2, {"std": std}) or self._chance(0.1, {"n": 3}) or {}
        return Tell.of(whole, value, following, **noise)

    def _add(self, client: Client, name: str) -> Add:
        study, rng = self._studies[name], self._rng
        more = {"context": some_context(study, rng), "key": self._chance(0.6, self.key())}
        more |= {"uid": self._chance(0.2, study.uid), "n": self._chance(0.1, 3)}
        return Add.of(some_choice(study, rng), some_result(study, rng), **more)

    def _cancel(self, client: Client, name: str) -> Command[Any]:
        asked = self._one_of(client, name)
        return self._ask(client, name) if asked is None else Cancel(asked.id)

    def _heartbeat(self, client: Client, name: str) -> Command[Any]:
        if not client.mine[name]:
            return self._ask(client, name)
        id = self._rng.choice(client.mine[name]).id
        return Heartbeat(id, self._chance(0.5, "20min"))

    def _applied(self, client: Client, name: str) -> Applied:
        study = self._studies[name]
        chosen, uid = some_choice(study, self._rng), self._chance(0.2, study.uid)
        return Applied(**as_choice(chosen), uid=uid)

    def _retime(self, client: Client, name: str) -> Retime:
        back = self._models[name].latest - self._rng.choice((1.0, 5.0))
        steps = counts_steps(self._studies[name])
        return Retime(self._chance(1.0 if steps else 0.3, max(back, 0.0)))

    def _wrong(self, client: Client, name: str) -> Command[Any]:
        """A command that may, or must, be refused."""
        study, ids, keys = (
            self._studies[name],
            [*self._models[name].entries],
            self._models[name].by_key,
        )
        value, context = some_result(study, self._rng), some_context(study, self._rng)
        wrong: list[Command[Any]] = [
            Tell(f"{study.uid[:12]}-00000001-0", value),
            Ask(context={"no": "such"}),
            Ask(context=context, lease="never"),
            Ask(context=context, uid="another"),
            Ask(t=-1.0, context=context),
        ]
        if ids:
            id = self._rng.choice(ids)
            wrong += [Tell(id, value), Cancel(id), Heartbeat(id, "1h"), Tell(id, float("nan"))]
        if keys:
            key = self._rng.choice([*keys])
            wrong += [Ask(context=context, key=key)]
            wrong += [Add.of(some_choice(study, self._rng), value, context=context, key=key)]
        return self._rng.choice(wrong)

    def _one_of(self, client: Client, name: str) -> Evaluation | None:
        """An evaluation of a client, which does not measure it again."""
        mine = client.mine[name]
        return mine.pop(self._rng.randrange(len(mine))) if mine else None
