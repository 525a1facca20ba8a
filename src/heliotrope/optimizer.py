"""The ask/tell shell around a policy: the one thing here that changes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.domains import Contextual, Domain, DomainAdapter, one_place
from heliotrope.errors import (
    InputError,
    NoBeliefError,
)
from heliotrope.estimation import Model
from heliotrope.history import History, Ledger, Observation, Suggestion, Visible
from heliotrope.policies import Agent, Belief, Best, Policy, Selective
from heliotrope.policies.adaptive import AdaptiveAgent
from heliotrope.policies.gp import GPAgent
from heliotrope.policies.protocol import TOLD_AT_ONCE, Sampling
from heliotrope.posterior import Learned
from heliotrope.rng import RNGStream
from heliotrope.serialization import archive, codec
from heliotrope.serialization.state import part, under
from heliotrope.validation import Array, as_array, as_number, as_whole

_FORMAT, _VERSION = "heliotrope.optimizer", 1


class Optimizer:
    """Ask where to measure, tell what came, and track the moving maximum.

    Asking is a pure function of the seed and of what was asked and told before. A call that
    raises one of this package's errors leaves the optimizer as it was.

    Examples
    --------
    >>> import heliotrope as ht
    >>> opt = ht.Optimizer(ht.grid(5), ht.tv_gp_ucb(ht.Prior(time=ht.Forgetting(0.01))), seed=0)
    >>> s = opt.ask()
    >>> opt.tell(s, 1.5)
    >>> opt.best().index == s.index
    True
    """

    def __init__(self, domain: Domain | Contextual, policy: Policy, seed: int = 0) -> None:
        self._ground = DomainAdapter(domain)
        self._domain = self._ground.domain
        self._rng = RNGStream(seed)
        self._agent = self._started(policy)
        self._policy = policy
        self._ledger = Ledger(self._domain.dimension)

    @property
    def domain(self) -> Domain:
        """Where one may measure; of a contextual problem, its choices joined to its contexts."""
        return self._domain

    @property
    def contextual(self) -> Contextual | None:
        """What is chosen and what is given, in a contextual problem."""
        return self._ground.contextual

    @property
    def policy(self) -> Policy:
        """How points are chosen."""
        return self._policy

    @property
    def history(self) -> History:
        """What was told, in the order of telling: a sequence, with whole columns t, x, y, index."""
        return self._ledger.history

    @property
    def open(self) -> tuple[Suggestion, ...]:
        """Suggestions that wait for their results, oldest first."""
        return tuple(self._ledger.open.values())

    @property
    def asked(self) -> int:
        """Number of suggestions made; their ids are 0, 1, 2, ..."""
        return self._ledger.asked

    @property
    def latest(self) -> float:
        """The latest time asked for or told, 0 before any."""
        return self._ledger.latest

    def is_open(self, id: int) -> bool:
        """Whether a suggestion waits for its result."""
        return id in self._ledger.open

    def ask(self, t: float | None = None, *, context: ArrayLike | None = None) -> Suggestion:
        """Suggest where to measure at time t; by default 1, then one unit after the latest time.

        In a contextual problem, and only there, say in which ``context``.

        Several may be open at once. Open ones shrink the variance and leave the mean alone, so
        the next suggestion lies elsewhere. Times may repeat but never run backwards.
        """
        suggestion = self.propose(t, context=context)
        self._begin(suggestion)
        return suggestion

    def propose(self, t: float | None = None, *, context: ArrayLike | None = None) -> Suggestion:
        """What :meth:`ask` would suggest; changes nothing."""
        choices = self._ground.choices(context)
        t = self._ledger.time(t)
        make_rng = self._rng.at(self._ledger.asked)
        if choices is None:
            place = self._agent.choose(t, make_rng)
        else:
            place = self._selective().choose_among(choices, t, make_rng)
        return self._ground.suggestion(self._ledger.asked, t, place)

    def begin(self, x: ArrayLike | int, t: float | None = None) -> Suggestion:
        """Open an evaluation at a point (or index) that was chosen elsewhere, as if asked for.

        In a contextual problem the point is a choice joined to its context.
        Replaying a log of suggestions this way gives the optimizer that made them.
        """
        suggestion = self.placed(x, t)
        self._begin(suggestion)
        return suggestion

    def placed(self, x: ArrayLike | int, t: float | None = None) -> Suggestion:
        """What :meth:`begin` would open; changes nothing."""
        t = self._ledger.time(t)
        return self._ground.suggestion(self._ledger.asked, t, one_place(self._domain, x))

    def _begin(self, suggestion: Suggestion) -> None:
        index = suggestion.index
        place = suggestion.x[None] if index is None else np.array([index])
        self._agent.open(suggestion.id, suggestion.t, place)
        self._ledger.begin(suggestion)

    def tell(self, suggestion: Suggestion | int, y: SupportsFloat) -> None:
        """Take the measured value for a suggestion (or its id), late or in any order."""
        suggestion = self._ledger.lookup(suggestion)
        value = as_number(y, "y", "Cancel the suggestion if its measurement failed.")
        self._agent.tell(suggestion.id, value)
        self._ledger.tell(suggestion, value)

    def cancel(self, suggestion: Suggestion | int) -> None:
        """Give up an evaluation that failed: the belief is as if it had not been asked for."""
        suggestion = self._ledger.lookup(suggestion)
        self._agent.cancel(suggestion.id)
        self._ledger.cancel(suggestion)

    def tell_many(self, t: ArrayLike, x: ArrayLike, y: ArrayLike) -> None:
        """Take values measured elsewhere: times (n,), points (n, d), values (n,).

        In a Finite domain of more than one coordinate, points may be given as indices (n,).
        Use it to start from past data. Times before the latest one are inserted where they
        belong, by going through all that counts once more.
        """
        times, values = as_array(t, "t", ndim=1), as_array(y, "y", ndim=1)
        places = self._domain.places(x)
        if not len(times) == len(values) == len(places):
            raise InputError(
                "as many times as points and values",
                f"{len(times)} times, {len(places)} points, {len(values)} values",
            )
        if not len(times):
            return
        points = self._domain.at(places)
        added = [
            Observation(
                float(times[i]), points[i], float(values[i]), self._ground.index(places[i : i + 1])
            )
            for i in np.argsort(times, kind="stable")
        ]
        agent = self._started(self._policy)
        if self._ledger.is_past(added[0].t):
            _feed(agent, [*self._ledger.visible.of(self.history), *added, *self.open])
        else:
            agent.restore(self._agent.state())
            _feed(agent, added)
        self._agent = agent
        self._ledger.add(added)

    def reconsider(self, policy: Policy, last: int | None = None, since: float = -np.inf) -> None:
        """Go on with another policy, which is shown what was told and what is open.

        Of what was told it sees the ``last`` results alone, if that is given, and of these the
        ones of times ``since`` then.
        """
        agent = self._started(policy)
        told = len(self.history)
        shown = told if last is None else min(as_whole(last, "last", least=0), told)
        visible = Visible(told - shown, told, float(since))
        _feed(agent, [*visible.of(self.history), *self.open])
        self._agent, self._policy, self._ledger.visible = agent, policy, visible

    def belief(
        self,
        t: float | None = None,
        X: ArrayLike | None = None,
        *,
        context: ArrayLike | None = None,
        count_open: bool = True,
    ) -> Belief:
        """Mean and deviation of f_t, over a Finite domain or at points X; changes nothing.

        With a ``context`` X are choices, and by default all of a Finite domain's.

        By default t is the latest time. The deviation counts open suggestions as if they had been
        measured, as the next ask will; ``count_open=False`` counts only what was told.
        """
        t = self.latest if t is None else as_number(t, "t")
        places = self._ground.places(X, context)
        mean, variance = self._agent.predict(t, places, count_open=count_open)
        points = self._domain.at(places) if places.ndim == 1 else places
        return Belief(t, points, mean, np.sqrt(variance))

    def best(self, t: float | None = None, *, context: ArrayLike | None = None) -> Best:
        """The point of highest posterior mean at time t, by default the latest; changes nothing.

        In a contextual problem, and only there, it is the best choice in a ``context``.
        """
        choices = self._ground.choices(context)
        t = self.latest if t is None else as_number(t, "t")
        make_rng = self._rng.at(self._ledger.asked, purpose=1)
        if choices is None:
            place = self._agent.best(t, make_rng)
        else:
            place = self._selective().best_among(choices, t, make_rng)
        mean, variance = self._agent.predict(t, place, count_open=False)
        x, index = self._domain.at(place)[0], self._ground.index(place)
        return Best(t, x, index, float(mean[0]), float(np.sqrt(variance[0])))

    def sample(
        self,
        t: float | None = None,
        X: ArrayLike | None = None,
        *,
        context: ArrayLike | None = None,
        size: int = 1,
        seed: int = 0,
    ) -> Array:
        """Draw f_t jointly, (size, points), from the posterior of what was told.

        Points are those of :meth:`belief`.
        """
        t = self.latest if t is None else as_number(t, "t")
        rng = np.random.default_rng(as_whole(seed, "seed", least=0))
        places, count = self._ground.places(X, context), as_whole(size, "size", least=1)
        return self._sampling().sample(t, places, rng, count)

    @property
    def log_likelihood(self) -> float:
        """Log density of what was told and counts: the sum of one-step predictive densities."""
        return self._sampling().log_likelihood

    def learned(self) -> Learned:
        """What a policy with ``learn=...`` has found out about the drift; changes nothing."""
        if not isinstance(self._agent, GPAgent):
            advice = "Call model()." if isinstance(self._agent, AdaptiveAgent) else ""
            raise NoBeliefError("a GP policy with learn=...", repr(self._policy)[:60], advice)
        return self._agent.learned()

    def model(self) -> Model:
        """What a policy that learns everything, such as auto, believes of the values at present.

        Its length scale is that of the unit cube; ``epsilon`` is the drift in a unit of time.
        """
        if not isinstance(self._agent, AdaptiveAgent):
            got = repr(self._policy)[:60]
            raise NoBeliefError("a policy that learns its model, such as auto", got)
        return self._agent.model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file: versioned JSON and plain arrays, no pickle."""
        archive.write_file(path, self.dumps())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Optimizer:
        """Read a file of :meth:`save`; what it asks next is what the saved one would have."""
        return cls.loads(Path(path).read_bytes(), str(path))

    def dumps(self) -> bytes:
        """Everything as :meth:`save` would write it."""
        return archive.pack(*self.parts())

    def parts(self) -> tuple[codec.Json, codec.Arrays]:
        """Everything as a JSON tree and arrays, not to be changed."""
        entries, arrays = self._ledger.parts()
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "domain": codec.encode(self._ground.given, arrays),
            "policy": codec.encode(self._policy, arrays),
            "seed": self._rng.seed,
            **entries,
        }
        return header, arrays | under("agent/", self._agent.state())

    @classmethod
    def loads(cls, data: bytes, source: str = "these bytes") -> Optimizer:
        """Make the optimizer whose :meth:`dumps` this was."""
        return cls.from_parts(*archive.unpack(data, _FORMAT, _VERSION, source), source)

    @classmethod
    def from_parts(
        cls, header: codec.Json, arrays: codec.Arrays, source: str = "these parts"
    ) -> Optimizer:
        """Make the optimizer whose :meth:`parts` these were."""
        archive.check_header(header, _FORMAT, _VERSION, source)
        with archive.fitting_parts("a saved optimizer", source):
            domain = codec.decode(header["domain"], arrays)
            optimizer = cls(domain, codec.decode(header["policy"], arrays), header["seed"])
            optimizer._ledger.restore(header, arrays, optimizer._ground.saved_suggestion)
            optimizer._agent.restore(part(arrays, "agent/"))
        return optimizer

    def _sampling(self) -> Sampling:
        if not isinstance(self._agent, Sampling):
            raise NoBeliefError("a policy with a joint belief of f", type(self._policy).__name__)
        return self._agent

    def _started(self, policy: Policy) -> Agent:
        """Return a fresh agent of a policy that fits."""
        if isinstance(policy, type) or not isinstance(policy, Policy):
            raise InputError("a policy, such as tv_gp_ucb(prior)", repr(policy))
        agent = policy.start(self._domain)
        if self._ground.contextual is not None and not isinstance(agent, Selective):
            raise InputError("a policy that takes a context", repr(policy), "Use tv_gp_ucb.")
        return agent

    def _selective(self) -> Selective:
        assert isinstance(self._agent, Selective)
        return self._agent


def _feed(agent: Agent, events: Iterable[Observation | Suggestion]) -> None:
    """Let an agent see evaluations, told and open, in the order of their times."""
    for event in sorted(events, key=lambda event: event.t):
        place = event.x[None] if event.index is None else np.array([event.index])
        if isinstance(event, Suggestion):
            agent.open(event.id, event.t, place)
        else:
            agent.open(TOLD_AT_ONCE, event.t, place)
            agent.tell(TOLD_AT_ONCE, event.y)
