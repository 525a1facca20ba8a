"""A simulation of clients that share studies: faults, clocks and commands are drawn from a seed.

A run plays single-threaded on a store in memory, checks the laws of the log and of what was
acknowledged after each step, and returns a transcript, which is the same for the same seed.
``python tests/simulation.py SEED`` prints it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from faulty_store import FaultyStore
from heliotrope.errors import (
    ClosedSuggestionError,
    DamagedError,
    FormatError,
    HeliotropeError,
    InputError,
    StoreError,
    TimeError,
    UnknownStudyError,
    UnknownSuggestionError,
)
from heliotrope.storage import MemoryStore
from heliotrope.study import Evaluation, Study
from heliotrope.study.command_fields import Command
from heliotrope.study.commands import Add, Applied, Ask, Cancel, Heartbeat, Hold, Retime, Tell
from heliotrope.study.state import StudyState
from heliotrope.surroundings import Surroundings
from log_model import LogModel
from simulated_clients import Client, Estimates, Sent
from simulated_commands import Commands, counts_steps, is_repeatable
from studies import DAYS, SPACES, some_context

GIVEN = {"epsilon": 0.05, "mean": 10.0, "variance": 9.0, "noise": 1.0, "length_scale": 0.4}
INDEPENDENT = {name: value for name, value in GIVEN.items() if name != "length_scale"}
KINDS: Mapping[str, Mapping[str, Any]] = {
    "auto": {"space": SPACES["options"]},
    "grid": {"space": SPACES["grid"], "policy": GIVEN, "clock": "10min", "lease": "30min"},
    "mixed": {"space": SPACES["mixed"], "policy": GIVEN, "direction": "minimize"},
    "contexts": {"space": SPACES["options"], "context": DAYS, "policy": INDEPENDENT, "clock": "h"},
    "limits": {
        "space": SPACES["features"],
        "policy": GIVEN,
        "metrics": {"rate": "maximize", "heat": "watch"},
        "limits": {"heat": {"below": 16.0}},
        "baseline": "b",
        "clock": "min",
    },
}
JUMPS = (-172_800.0, -900.0, -3.0, 45.0, 2_400.0, 90_000.0, 500 * 86_400.0)  # seconds
CLIENTS = 3
STEPS = 36
REFUSALS = (ClosedSuggestionError, InputError, TimeError, UnknownStudyError, UnknownSuggestionError)


class Simulation:
    """One run; everything that is drawn comes from ``seed``."""

    def __init__(self, seed: int, steps: int = STEPS) -> None:
        self.seed, self.steps, self.rng = seed, steps, Random(seed)
        self.seconds, self.nested = 1.7e9, False
        self.transcript = list[str]()
        self.store = MemoryStore(self._surroundings(0.0))
        kinds = self.rng.sample(list(KINDS), 2)
        self.studies = {name: self._created(name) for name in kinds}
        self.models = {name: LogModel(study.config) for name, study in self.studies.items()}
        self.clients = [self._client(number) for number in range(CLIENTS)]
        self._check_logs()
        self.commands = Commands(self.rng, self.studies, self.models)

    def run(self) -> str:
        """Play all steps, repeat what is in doubt, and return the transcript."""
        try:
            for _ in range(self.steps):
                self._step(self.rng.choice(self.clients))
                self._check_logs()
            for client in self.clients:
                while client.due:
                    self._deliver(client, client.due.pop(), faults=False)
            self._check_logs()
            for name in self.studies:
                self._check_states(name, self.clients)
        except AssertionError as broken:
            broken.add_note("\n".join([*self.transcript[-12:], f"seed {self.seed}"]))
            raise
        for name, model in self.models.items():
            self.transcript += [f"{name} {e.seq} {e.at!r} {_text(e.body)}" for e in model.events]
        return "\n".join(self.transcript) + "\n"

    # ---- making it

    def _surroundings(self, ahead: float) -> Surroundings:
        return Surroundings(lambda: self.seconds + ahead, self.rng.randrange)

    def _created(self, name: str) -> Study:
        seed, clock = self.rng.randrange(1000), self._surroundings(0.0).now
        return Study.create(name, store=self.store, seed=seed, now=clock, **KINDS[name])

    def _client(self, number: int) -> Client:
        store = FaultyStore(self.store, self.rng, lambda: self._race(client))
        ahead = self.rng.choice((0.0, 0.0, -20.0, 40.0))
        beside = self.rng.random() < 0.4
        client = Client(f"c{number}", store, self._surroundings(ahead), beside)
        client.open(list(self.studies))
        return client

    # ---- a step

    def _step(self, client: Client) -> None:
        self._pass_time()
        name, luck = self.rng.choice(list(self.studies)), self.rng.random()
        if luck < 0.05:
            self._say(f"{client.name} unloads {name}")
            client.studies[name].unload()
        elif luck < 0.1:
            self._say(f"{client.name} begins again")
            client.open(list(self.studies))
        elif luck < 0.15:
            self._keep_snapshot(client, name)
        elif luck < 0.2:
            self._check_states(name, [client])
        elif luck < 0.25:
            self._deliver_batch(client)
        elif luck < 0.35 and client.estimates is not None:
            self._estimate(client, client.estimates)
        elif luck < 0.45 and client.due:
            number = self.rng.randrange(len(client.due))
            self._deliver(client, client.due.pop(number))
        else:
            self._deliver(client, (name, self.commands.draw(client, name)))

    def _pass_time(self) -> None:
        jumps = self.rng.random() < 0.1
        passed = self.rng.choice(JUMPS) if jumps else self.rng.expovariate(1.0 / 60.0)
        self.seconds += passed
        if jumps:
            self._say(f"the clocks jump by {passed:g} s")

    def _race(self, client: Client) -> None:
        """Let another client send a command first."""
        if self.nested:
            return
        self.nested = True
        other = self.rng.choice([one for one in self.clients if one is not client])
        name = self.rng.choice(list(self.studies))
        self._say(f"{other.name} is faster than {client.name}")
        self._deliver(other, (name, self.commands.draw(other, name)))
        self.nested = False

    def _estimate(self, client: Client, estimates: Estimates) -> None:
        client.store.armed = True
        try:
            done = estimates.step()
        except StoreError as error:
            done = f"loses an estimate: {error}"
        client.store.armed = False
        self._say(f"{client.name} {done}")

    def _keep_snapshot(self, client: Client, name: str) -> None:
        state = client.studies[name].state()
        client.store.keep_snapshot(state.uid, state.seq, state.dumps())
        self._say(f"{client.name} keeps a snapshot of {name} after event {state.seq}")

    # ---- sending commands

    def _deliver(self, client: Client, sent: Sent, *, faults: bool = True) -> None:
        """Send a command; its answer may get lost, or it may arrive twice."""
        name, command = sent
        first = self._attempt(client, sent, faults=faults)
        if isinstance(first, StoreError):
            self._remember(client, sent)
            return
        self._note(client, sent, first)
        if faults and self.rng.random() < 0.2 and is_repeatable(command):
            self._say("the answer is lost" if self.rng.random() < 0.5 else "it is sent twice")
            self._check_same(name, command, first, self._attempt(client, sent, faults=faults))

    def _attempt(self, client: Client, sent: Sent, *, faults: bool) -> Any:
        """The result of a command, or its error; one that is refused writes nothing."""
        name, command = sent
        before, client.store.written, client.store.armed = client.store.written, [], faults
        try:
            result = client.studies[name].do(command)
        except HeliotropeError as error:
            result = error
        written, client.store.armed = client.store.written, False
        client.store.written = before + written
        self._say(f"{client.name} {name} {command.verb} {_text(command.to_json())}")
        self._say(f"    {_answer(command, result)}")
        self._check_logs()
        if isinstance(result, HeliotropeError) and not isinstance(result, StoreError):
            self._check_refused(command, result)
            assert {*written} <= {"expired"}, "a refused command wrote"
        return result

    def _deliver_batch(self, client: Client) -> None:
        """Send commands to several studies, written together."""
        names = [self.rng.choice(list(self.studies)) for _ in range(self.rng.randint(1, 3))]
        sent = [(name, self.commands.draw(client, name)) for name in names for _ in range(2)]
        begun, results = list[Callable[[], list[Any]]](), list[Any]()
        client.store.armed = True
        try:
            with client.journal.together():
                for number, name in enumerate(names):
                    commands = [command for _, command in sent[2 * number : 2 * number + 2]]
                    begun.append(client.studies[name].begin_all(commands))
            for finish in begun:
                results += finish()
        except StoreError as error:
            results += [error] * (len(sent) - len(results))
        client.store.armed = False
        self._check_logs()
        for one, result in zip(sent, results, strict=True):
            name, command = one
            self._say(f"{client.name} {name} together: {command.verb} {_text(command.to_json())}")
            self._say(f"    {_answer(command, result)}")
            if isinstance(result, StoreError):
                self._remember(client, one)
                continue
            if isinstance(result, Exception):
                self._check_refused(command, result)
            self._note(client, one, result)

    def _remember(self, client: Client, sent: Sent) -> None:
        """Send a command again later, if that is safe."""
        if is_repeatable(sent[1]):
            client.due.append(sent)

    # ---- checking

    def _note(self, client: Client, sent: Sent, result: Any) -> None:
        """Check an acknowledged result against the log, and let the client have it."""
        name, command = sent
        if isinstance(result, HeliotropeError):
            self._react(client, name, result)
            return
        model = self.models[name]
        match command:
            case Ask():
                self._note_asked(client, name, command, result)
            case Tell():
                model.check_told(command.id, command.value)
                if command.ask is not None:
                    self._note_asked(client, name, command.ask, result)
            case Add():
                model.check_asked(result, command.key)
                model.check_told(result.id, command.value)
            case Cancel():
                assert model.entries[command.id].state == "cancelled"
            case Heartbeat():
                assert model.entries[result.id].until is not None
            case Applied():
                chosen = self.studies[name].config.adapter.canonical_choice(command.chosen)
                assert chosen in model.applied

    def _react(self, client: Client, name: str, refusal: HeliotropeError) -> None:
        """Do what an error about the clock advises."""
        study, now = self.studies[name], client.surroundings.now()
        if isinstance(refusal, TimeError) and not counts_steps(study):
            at = study.config.clock.at(now, self.models[name].events[0].at)
            context, key = some_context(study, self.rng), self.commands.key()
            ahead = Ask(at, context=context, key=key)
            client.due.append((name, ahead if "ask with t" in str(refusal) else Retime()))

    def _note_asked(self, client: Client, name: str, ask: Ask, asked: Evaluation | Hold) -> None:
        if isinstance(asked, Evaluation):
            self.models[name].check_asked(asked, ask.key)
            if asked.id not in [one.id for one in client.mine[name]]:
                client.mine[name].append(asked)

    def _check_same(self, name: str, command: Command[Any], first: Any, second: Any) -> None:
        """A command that was carried out gives the same when it is repeated."""
        if isinstance(first, HeliotropeError) or isinstance(second, StoreError):
            return
        asks = command.ask if isinstance(command, Tell) else command
        if isinstance(asks, Ask) and isinstance(first, Evaluation):
            is_open = self.models[name].entries[first.id].state == "open"
            same = isinstance(second, Evaluation) and second.id == first.id
            assert same if is_open else isinstance(second, ClosedSuggestionError)
        elif isinstance(command, Add):
            assert isinstance(second, Evaluation)
            assert second.id == first.id
        elif isinstance(command, Tell | Cancel | Applied):
            assert not isinstance(second, HeliotropeError)

    def _check_refused(self, command: Command[Any], error: Exception) -> None:
        """Commands are refused for what is wrong with them, never for what is in the log."""
        assert isinstance(error, REFUSALS), repr(error)
        assert not isinstance(error, FormatError | DamagedError), repr(error)
        ask = command.ask if isinstance(command, Tell) else command
        if isinstance(error, TimeError) and getattr(ask, "t", None) is None:
            assert "a clock" in error.expected, "a small difference of the clocks was refused"

    def _check_logs(self) -> None:
        for name, study in self.studies.items():
            self.models[name].read(self.store.events(study.uid))

    def _check_states(self, name: str, clients: Sequence[Client]) -> None:
        """The states of clients are those of all events, with and without the snapshot."""
        replayed = self._state(name, snapshot=False)
        wanted, model = replayed.dumps(), self.models[name]
        assert [one.id for one in replayed.open] == model.in_state("open")
        assert replayed.lead.asked == len(model.entries)
        assert replayed.told == len(model.in_state("told"))
        assert self._state(name, snapshot=True).dumps() == wanted, "a snapshot differs"
        for client in clients:
            assert client.studies[name].state().dumps() == wanted, "a live state differs"
        digest = hashlib.sha256(wanted).hexdigest()
        self._say(f"{name} after {replayed.seq} events: {digest}")

    def _state(self, name: str, *, snapshot: bool) -> StudyState:
        study, events = self.studies[name], self.models[name].events
        state, kept = StudyState(study.uid, study.config, events[0].at), None
        if snapshot:
            kept = self.store.snapshot(study.uid)
        if kept is not None:
            state.loads(kept[1])
        state.extend([event.body for event in events[state.seq :]])
        return state

    def _say(self, line: str) -> None:
        self.transcript.append(line)


def _answer(command: Command[Any], result: Any) -> str:
    if isinstance(result, Exception):
        return f"{type(result).__name__}: {result}"
    return _text(command.answer(result))


def _text(value: Any) -> str:
    return json.dumps(value)


def play(seed: int, steps: int = STEPS) -> str:
    """The transcript of a run."""
    return Simulation(seed, steps).run()


if __name__ == "__main__":
    sys.stdout.write(play(*map(int, sys.argv[1:])))
