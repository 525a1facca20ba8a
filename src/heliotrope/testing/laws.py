"""The laws of policies, each a function that raises an AssertionError where it is broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

import numpy as np

from heliotrope.domains import Finite, among
from heliotrope.errors import ClosedSuggestionError, HeliotropeError, NoBeliefError
from heliotrope.history import Suggestion
from heliotrope.optimizer import Optimizer
from heliotrope.policies import Selective
from heliotrope.rng import RNGStream
from heliotrope.serialization import codec
from heliotrope.serialization.state import copied
from heliotrope.testing.minds import (
    assert_apart,
    assert_cancelled_for_ever,
    assert_restored,
    assert_same_mind,
    renamed,
)
from heliotrope.testing.subject import (
    Span,
    Subject,
    agent_state,
    asked,
    belief,
    difference,
    feed,
    feed_under,
    infinite,
    size,
    sizes,
    value,
)
from heliotrope.validation import LARGEST

_STEPS = 12
_MANY = 4 * _STEPS  # results: some policies try every place first
_CALLS = 50  # of choose in a row, at one state
_RESULTS = (300, 600, 1200, 2400, 4800)  # between three of which the state must not grow
_DOUBT, _CHANCE = 1 / 16, 1 / 4  # of the swing of sizes: so far may their mean rise by chance
_EXTREMES = (1e40, -1e60, LARGEST, -LARGEST, 1e-300, -5e-324, 1.0)
_FAR = 3_000_001  # odd: less an even key it is an odd one


def written(subject: Subject) -> None:
    """The policy survives a file: it is a registered dataclass of what a file can hold."""
    arrays: codec.Arrays = {}
    tree = json.loads(json.dumps(codec.encode(subject.policy, arrays)))
    read = codec.decode(tree, arrays)
    again = json.loads(json.dumps(codec.encode(read, {})))
    assert again == tree, "it was read with other values than it was written with"


def in_domain(subject: Subject) -> None:
    """What is chosen is one place of the domain."""
    agent, stream, rng = subject.agent(), RNGStream(3), np.random.default_rng(3)
    shape = (1,) if isinstance(subject.domain, Finite) else (1, subject.domain.dimension)
    for key in range(_STEPS):
        t = key + 1.0
        place = agent.choose(t, stream.at(key))
        found = getattr(place, "shape", type(place).__name__)
        assert found == shape, f"choose returned {found} where places have the shape {shape}"
        agent.open(key, t, place)
        agent.tell(key, value(subject.domain.at(place)[0], t, rng))
    subject.game(subject.optimizer(), _STEPS)


def selects(subject: Subject) -> None:
    """An agent that chooses among a part of its domain stays there."""
    agent, part, stream = subject.agent(), subject.some(), RNGStream(3)
    if not isinstance(agent, Selective):
        return
    t = 1.0
    for steps in (0, 1, _STEPS):
        t = feed(agent, subject, steps, start=t) + 1.0
        place = agent.choose_among(part, t, stream.at(steps))
        assert among(part, place), f"{place.tolist()} was chosen, which was not to be"
        with suppress(NoBeliefError):
            best = agent.best_among(part, t, stream.at(steps))
            assert among(part, best), f"{best.tolist()} was best, which was not to be"


def pure(subject: Subject) -> None:
    """Asking is a question: the same answer each time, and nothing changes."""
    optimizer = subject.game(subject.optimizer(), _STEPS)
    before, t = agent_state(optimizer), optimizer.latest + 1.0
    first = asked(optimizer.propose(t))
    seen = belief(optimizer)
    optimizer.propose(t + 7.5)
    for _ in range(_CALLS):
        assert asked(optimizer.propose(t)) == first, "asked again, it suggested another point"
    again = belief(optimizer)
    assert seen is None or np.array_equal(seen, np.asarray(again)), "belief changed by being read"
    changed = difference(before, agent_state(optimizer))
    assert not changed, f"choose, predict or best changed the state: {changed}"


def seeded(subject: Subject) -> None:
    """Everything follows from the seed and from what was asked and told."""
    one, other = (subject.game(subject.optimizer(), _STEPS) for _ in range(2))
    _assert_alike(one, other, "two optimizers of one seed")


def saved(subject: Subject) -> None:
    """What was saved and loaded goes on as what was not."""
    for steps in (0, 1, _STEPS):
        kept = subject.game(subject.optimizer(), steps)
        loaded = Optimizer.loads(kept.dumps())
        _assert_alike(kept, loaded, f"the loaded one of {steps} steps, at once,")
        for optimizer in (kept, loaded):
            subject.game(optimizer, 4, seed=1)
        _assert_alike(kept, loaded, f"the loaded one of {steps} steps, four steps later,")
    assert_restored(subject, _STEPS)


def apart(subject: Subject) -> None:
    """Agents share nothing, be one made from another's state or both by the policy."""
    agent, twin = subject.agent(), subject.agent()
    t = feed(agent, subject, _STEPS)
    agent.open(_STEPS, t, subject.place(np.random.default_rng(1)))
    before = copied(agent.state())
    twin.restore(agent.state())
    twin.tell(_STEPS, 1.0)
    feed(twin, subject, _STEPS, seed=1, start=t + 1.0)
    changed = difference(before, agent.state())
    assert not changed, f"the restored agent's results changed the first one's {changed}"
    assert_apart(subject, _MANY)


def replayed(subject: Subject) -> None:
    """A log of what was asked, told and cancelled gives the optimizer that wrote it."""
    played, replay = subject.game(subject.optimizer(), 2 * _STEPS), subject.optimizer()
    for event in subject.log:
        event(replay)
    _assert_alike(played, replay, "the replay of the log")


def late(subject: Subject) -> None:
    """Results come late and in any order."""
    optimizer, rng = subject.optimizer(), np.random.default_rng(4)
    waiting = [subject.ask(optimizer) for _ in range(8)]
    for i in rng.permutation(8):
        subject.tell(optimizer, waiting[i].id, value(waiting[i].x, waiting[i].t, rng))
        subject.ask(optimizer)
    _assert_finite(optimizer)


def named(subject: Subject) -> None:
    """Keys are only names: the same results under other keys lead to the same."""
    one, other = subject.agent(), subject.agent()
    names = {_FAR - key: key for key in range(_STEPS)}
    feed_under(list(names.values()), one, subject)
    feed_under(list(names), other, subject)
    differs = difference(one.state(), renamed(other.state(), names))
    assert not differs, f"under other keys its state is another: {differs}"
    assert_same_mind(one, other, subject, _STEPS + 1.0, "under other keys")


def duplicate(subject: Subject) -> None:
    """A second result for one suggestion is refused; equal ones measured elsewhere are taken."""
    optimizer = subject.game(subject.optimizer(), _STEPS)
    suggestion = subject.ask(optimizer)
    optimizer.tell(suggestion, 0.5)
    before = agent_state(optimizer)
    try:
        optimizer.tell(suggestion, 0.7)
        raise AssertionError("a second result was taken")
    except ClosedSuggestionError:
        pass
    changed = difference(before, agent_state(optimizer))
    assert not changed, f"a refused result changed the state: {changed}"
    for t in (optimizer.latest, 0.5):  # at the end, and where all that followed is gone through
        optimizer.tell_many([t] * 4, [suggestion.x] * 4, [0.5] * 4)
        subject.ask(optimizer)
    _assert_finite(optimizer)


def cancelled(subject: Subject) -> None:
    """A cancelled evaluation leaves nothing behind, not even for results that come later."""
    agent, twin, place = subject.agent(), subject.agent(), subject.place(np.random.default_rng(2))
    for one in (agent, twin):
        t = feed(one, subject, _STEPS)
    taken = list[int]()
    for key in range(2 * _STEPS):
        agent.open(key, t, place)
        agent.cancel(key)
        taken.append(size(agent))
    assert taken[-1] <= taken[_STEPS], "every cancelled evaluation makes the state larger"
    assert_same_mind(agent, twin, subject, t + 1.0, "after cancelled asks")
    assert_cancelled_for_ever(subject, _STEPS)


def constant(subject: Subject) -> None:
    """Values that are all equal are values."""
    for y in (0.0, -3.0):
        optimizer = subject.optimizer()
        for _ in range(_STEPS):
            subject.tell(optimizer, subject.ask(optimizer).id, y)
        _assert_finite(optimizer)


def repeated(subject: Subject) -> None:
    """One point may be measured again and again, at one time or at far ones."""
    optimizer, rng = subject.optimizer(), np.random.default_rng(7)
    place = subject.place(rng)
    x = subject.domain.at(place)[0]
    for t in np.repeat([1.0, 1.0 + 1e-9, 2.5, 1e6], 6).tolist():
        optimizer.tell(optimizer.begin(x, t), value(x, 0.0, rng))
    subject.ask(optimizer)
    _assert_finite(optimizer)


def extreme(subject: Subject) -> None:
    """Huge and tiny values are taken, or refused with an error of this package, unchanged.

    Those taken leave NaN or infinity in no array of the state where usual values leave none.
    """
    optimizer, usual = (subject.game(subject.optimizer(), 3) for _ in range(2))
    for y in _EXTREMES:
        suggestion = subject.ask(optimizer)
        other = usual.begin(suggestion.x if suggestion.index is None else suggestion.index)
        if _takes(optimizer, suggestion, y):
            usual.tell(other, 1.0)
        _assert_finite(optimizer)
        spoilt = ", ".join(sorted(infinite(optimizer) - infinite(usual)))
        assert not spoilt, f"the value {y:g} left NaN or infinity in the state: {spoilt}"


def bounded(subject: Subject) -> None:
    """The state stops growing, unless the policy says that it grows."""
    if getattr(subject.policy, "grows", False):
        return
    spans = list[Span]()
    for span in sizes(subject, _RESULTS):
        spans.append(span)
        if len(spans) > 2 and not any(_grew(*pair, _DOUBT) for pair in pairwise(spans[-3:])):
            return
    counts, means = ", ".join(map(str, _RESULTS)), [round(span.mean) for span in spans]
    assert not _grew(spans[-2], spans[-1], _CHANCE), (
        f"between 0, {counts} results the state took {means} bytes in the mean (a policy whose "
        "state is meant to grow says so: grows = True)"
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
    "bounded memory": bounded,
}
"""Every law by its name."""


def _grew(before: Span, span: Span, slack: float) -> bool:
    """Whether the mean size grew, by half a byte for each new result and by a share of the swing.

    Means, for the largest of sizes that vary by chance is larger among more of them.
    """
    return span.mean - before.mean >= max(span.results / 2, slack * before.swing)


def _takes(optimizer: Optimizer, suggestion: Suggestion, y: float) -> bool:
    """Whether a value is taken; a refusal must change nothing."""
    before = agent_state(optimizer)
    try:
        optimizer.tell(suggestion, y)
    except HeliotropeError:
        changed = difference(before, agent_state(optimizer))
        assert not changed, f"refusing the value {y:g} changed the state: {changed}"
        return False
    return True


def _assert_alike(one: Optimizer, other: Optimizer, who: str) -> None:
    assert asked(one.propose()) == asked(other.propose()), f"{who} suggested another point"
    differs = difference(agent_state(one), agent_state(other))
    assert not differs, f"{who} differed in the state: {differs}"


def _assert_finite(optimizer: Optimizer) -> None:
    seen = belief(optimizer)
    assert seen is None or np.all(np.isfinite(seen)), "the belief is not finite"
