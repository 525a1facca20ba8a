"""The laws of policies, each a function that raises an AssertionError if it is broken."""

import json
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

import numpy as np

from heliotrope.domains import Finite, is_choice
from heliotrope.errors import ClosedSuggestionError, HeliotropeError, NoBeliefError
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Selective
from heliotrope.precision import USUAL, Noise
from heliotrope.serialization import codec
from heliotrope.serialization.codec import copied
from heliotrope.surroundings import RNGStream
from heliotrope.testing.subject import (
    Subject,
    agent_state,
    assert_cancelled_forever,
    assert_independent,
    assert_restored,
    assert_same_behaviour,
    assert_same_state,
    believed,
    feed,
    feed_with_keys,
    measured,
    non_finite,
    state_size,
    suggested,
)
from heliotrope.validation import LARGEST

_STEPS = 12
_MANY = 4 * _STEPS  # results, as some policies try every place first
_CALLS = 50  # consecutive calls of choose
_RESULTS = (300, 600, 1200, 2400, 4800)  # the state must not grow between some three of them
_FEW = 5  # results between measurements of the state's size
_DOUBT, _CHANCE = 1 / 16, 1 / 4  # shares of the sizes' range by which their mean may rise by chance
_EXTREMES = (1e40, -1e60, LARGEST, -LARGEST, 1e-300, -5e-324, 1.0)
_NOISES: tuple[Noise, ...] = ({"std": 1e-3}, {"std": 1e3}, {"n": 5}, {"successes": 1, "trials": 4})
_FAR = 3_000_001  # odd, so that an even key maps to an odd one


def written(subject: Subject) -> None:
    """The policy can be saved: it is a registered dataclass of values that a file can hold."""
    arrays: codec.Arrays = {}
    tree = json.loads(json.dumps(codec.encode(subject.policy, arrays)))
    again = json.loads(json.dumps(codec.encode(codec.decode(tree, arrays), {})))
    assert again == tree, "the values read differ from the values written"


def in_domain(subject: Subject) -> None:
    """Every choice is one place of the domain."""
    agent, stream, rng = subject.agent(), RNGStream(3), np.random.default_rng(3)
    shape = (1,) if isinstance(subject.domain, Finite) else (1, subject.domain.dimension)
    for key in range(_STEPS):
        t = key + 1.0
        place = agent.choose(t, stream.at(key))
        chosen = getattr(place, "shape", type(place).__name__)
        assert chosen == shape, f"choose returned {chosen}, but places have the shape {shape}"
        agent.open(key, t, place)
        agent.tell(key, measured(subject.domain.at(place)[0], t, rng))
    subject.game(subject.optimizer(), _STEPS)


def selects(subject: Subject) -> None:
    """An agent that chooses among a part of its domain stays in that part."""
    agent, part, stream = subject.agent(), subject.part(), RNGStream(3)
    if not isinstance(agent, Selective):
        return
    t = 1.0
    for steps in (0, 1, _STEPS):
        t = feed(agent, subject, steps, start=t) + 1.0
        place = agent.choose_among(part, t, stream.at(steps))
        assert is_choice(part, place), f"{place.tolist()} was chosen, which is not a choice"
        with suppress(NoBeliefError):
            best = agent.best_among(part, t, stream.at(steps))
            assert is_choice(part, best), f"{best.tolist()} was best, which is not a choice"


def pure(subject: Subject) -> None:
    """Queries give the same answer each time and change nothing."""
    optimizer = subject.game(subject.optimizer(), _STEPS)
    before, t = agent_state(optimizer), optimizer.latest + 1.0
    first = suggested(optimizer.propose(t))
    seen = believed(optimizer)
    optimizer.propose(t + 7.5)
    for _ in range(_CALLS):
        assert suggested(optimizer.propose(t)) == first, "a repeated query suggested another point"
    again = believed(optimizer)
    assert seen is None or np.array_equal(seen, np.asarray(again)), "reading the belief changed it"
    assert_same_state(before, agent_state(optimizer), "choose, predict or best changed the state")


def seeded(subject: Subject) -> None:
    """Everything depends only on the seed and on what was asked and told."""
    first, second = (subject.game(subject.optimizer(), _STEPS) for _ in range(2))
    _assert_alike(first, second, "two optimizers of one seed")


def saved(subject: Subject) -> None:
    """A loaded optimizer continues as the saved one."""
    for steps in (0, 1, _STEPS):
        kept = subject.game(subject.optimizer(), steps)
        loaded = Optimizer.loads(kept.dumps())
        _assert_alike(kept, loaded, f"the optimizer loaded after {steps} steps")
        for optimizer in (kept, loaded):
            subject.game(optimizer, 4, seed=1)
        _assert_alike(kept, loaded, f"four steps later, the optimizer loaded after {steps} steps")
    assert_restored(subject, _STEPS)


def apart(subject: Subject) -> None:
    """Agents share no state, even if one was restored from the other's."""
    agent, twin = subject.agent(), subject.agent()
    t = feed(agent, subject, _STEPS)
    agent.open(_STEPS, t, subject.place(np.random.default_rng(1)))
    before = copied(agent.state())
    twin.restore(agent.state())
    twin.tell(_STEPS, 1.0)
    feed(twin, subject, _STEPS, seed=1, start=t + 1.0)
    assert_same_state(before, agent.state(), "results of the restored agent changed the first one")
    assert_independent(subject, _MANY)


def replayed(subject: Subject) -> None:
    """Replaying a log of asks, results and cancellations reproduces the optimizer."""
    played, replay = subject.game(subject.optimizer(), 2 * _STEPS), subject.optimizer()
    for call in subject.log:
        call(replay)
    _assert_alike(played, replay, "the replay of the log")


def late(subject: Subject) -> None:
    """Results may arrive late and in any order."""
    optimizer, rng = subject.optimizer(), np.random.default_rng(4)
    waiting = [subject.ask(optimizer) for _ in range(8)]
    for i in rng.permutation(8):
        optimizer.tell(waiting[i], measured(waiting[i].x, waiting[i].t, rng))
        subject.ask(optimizer)
    _assert_finite(optimizer)


def named(subject: Subject) -> None:
    """Keys are only names: results under other keys have the same effect."""
    first, second = subject.agent(), subject.agent()
    names = {_FAR - key: key for key in range(_STEPS)}
    feed_with_keys(list(names.values()), first, subject)
    feed_with_keys(list(names), second, subject)
    renamed = copied(second.state())
    for array in renamed.values():
        for key, name in names.items():
            array[array == key] = name
    assert_same_state(first.state(), renamed, "under other keys its state differs")
    assert_same_behaviour(first, second, subject, _STEPS + 1.0, "under other keys")


def duplicate(subject: Subject) -> None:
    """A second result for a suggestion raises an error; repeated added results are allowed."""
    optimizer = subject.game(subject.optimizer(), _STEPS)
    suggestion = subject.ask(optimizer)
    optimizer.tell(suggestion, 0.5)
    before = agent_state(optimizer)
    try:
        optimizer.tell(suggestion, 0.7)
        raise AssertionError("a second result was accepted")
    except ClosedSuggestionError:
        assert_same_state(before, agent_state(optimizer), "a refused result changed the state")
    for t in (optimizer.latest, 0.5):  # at the end, and at the start, by a replay
        optimizer.tell_many([t] * 4, [suggestion.x] * 4, [0.5] * 4)
        subject.ask(optimizer)
    _assert_finite(optimizer)


def cancelled(subject: Subject) -> None:
    """A cancelled evaluation has no effect, not even on later results."""
    agent, twin, place = subject.agent(), subject.agent(), subject.place(np.random.default_rng(2))
    for fed in (agent, twin):
        t = feed(fed, subject, _STEPS)
    taken = list[int]()
    for key in range(2 * _STEPS):
        agent.open(key, t, place)
        agent.cancel(key)
        taken.append(state_size(agent))
    assert taken[-1] <= taken[_STEPS], "each cancelled evaluation makes the state larger"
    assert_same_behaviour(agent, twin, subject, t + 1.0, "after cancelled asks")
    assert_cancelled_forever(subject, _STEPS)


def constant(subject: Subject) -> None:
    """All values may be equal."""
    for y in (0.0, -3.0):
        optimizer = subject.optimizer()
        for _ in range(_STEPS):
            optimizer.tell(subject.ask(optimizer), y)
        _assert_finite(optimizer)


def repeated(subject: Subject) -> None:
    """A point may be measured repeatedly, at one time or at distant times."""
    optimizer, rng = subject.optimizer(), np.random.default_rng(7)
    x = subject.domain.at(subject.place(rng))[0]
    for t in np.repeat([1.0, 1.0 + 1e-9, 2.5, 1e6], 6).tolist():
        optimizer.tell(optimizer.begin(x, t), measured(x, 0.0, rng))
    subject.ask(optimizer)
    _assert_finite(optimizer)


def extreme(subject: Subject) -> None:
    """Huge and tiny values are accepted, or raise an error of this package and change nothing.

    Accepted ones do not put NaN or infinity into arrays that usual values leave finite.
    """
    optimizer, usual = (subject.game(subject.optimizer(), 3) for _ in range(2))
    for y in _EXTREMES:
        suggestion = subject.ask(optimizer)
        other = usual.begin(suggestion.x if suggestion.index is None else suggestion.index)
        before = agent_state(optimizer)
        try:
            optimizer.tell(suggestion, y)
        except HeliotropeError:
            otherwise = f"refusing the value {y:g} changed the state"
            assert_same_state(before, agent_state(optimizer), otherwise)
        else:
            usual.tell(other, 1.0)
        _assert_finite(optimizer)
        spoilt = ", ".join(sorted(non_finite(optimizer) - non_finite(usual)))
        assert not spoilt, f"the value {y:g} left NaN or infinity in the state: {spoilt}"


def noisy(subject: Subject) -> None:
    """Results may have their own noise; by default they have the usual noise."""
    optimizer, rng = subject.optimizer(), np.random.default_rng(5)
    for noise in _NOISES * 4:
        suggestion = subject.ask(optimizer)
        y = None if "trials" in noise else measured(suggestion.x, suggestion.t, rng)
        optimizer.tell(suggestion, y, **noise)
        _assert_finite(optimizer)
    first, second, place = subject.agent(), subject.agent(), subject.place(rng)
    for agent in (first, second):
        agent.open(0, 1.0, place)
    first.tell(0, 1.0)
    second.tell(0, 1.0, USUAL)
    assert_same_state(first.state(), second.state(), "the usual precision had an effect")


def bounded(subject: Subject) -> None:
    """The state stops growing, unless the policy declares that it grows."""
    if getattr(subject.policy, "grows", False):
        return
    agent, t, spans = subject.agent(), 1.0, list[list[int]]()
    for first, end in pairwise((0, *_RESULTS)):
        spans.append([])
        for told in range(first, end, _FEW):
            t = feed(agent, subject, _FEW, seed=told, start=t) + 1.0
            spans[-1].append(state_size(agent))
        if len(spans) > 2 and not any(_grew(*pair, _DOUBT) for pair in pairwise(spans[-3:])):
            return
    counts, means = ", ".join(map(str, _RESULTS)), [round(np.mean(sizes)) for sizes in spans]
    assert not _grew(spans[-2], spans[-1], _CHANCE), (
        f"between 0, {counts} results the state took {means} bytes on average (set grows = True "
        "on a policy whose state is meant to grow)"
    )


LAWS: dict[str, Callable[[Subject], None]] = {
    "can be written": written,
    "stays in the domain": in_domain,
    "stays in a part of it": selects,
    "asking is pure": pure,
    "follows the seed": seeded,
    "save and load": saved,
    "agents are apart": apart,
    "replay": replayed,
    "late results": late,
    "keys are names": named,
    "duplicate results": duplicate,
    "cancelled asks": cancelled,
    "constant values": constant,
    "repeated points": repeated,
    "extreme values": extreme,
    "noise of results": noisy,
    "bounded memory": bounded,
}
"""Every law by its name."""


def _grew(before: list[int], sizes: list[int], slack: float) -> bool:
    """Whether the mean size grew by half a byte per result and by a share of its range.

    The maximum would not do: it grows with the number of sizes that vary by chance.
    """
    rise = np.mean(sizes) - np.mean(before)
    return bool(rise >= max(_FEW * len(sizes) / 2, slack * np.ptp(before)))


def _assert_alike(first: Optimizer, twin: Optimizer, who: str) -> None:
    assert suggested(first.propose()) == suggested(twin.propose()), f"{who} suggested another point"
    assert_same_state(agent_state(first), agent_state(twin), f"{who} differed in the state")


def _assert_finite(optimizer: Optimizer) -> None:
    seen = believed(optimizer)
    assert seen is None or np.all(np.isfinite(seen)), "the belief is not finite"
