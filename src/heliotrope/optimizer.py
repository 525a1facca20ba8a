"""The ask/tell interface to a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import SupportsFloat, Unpack

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.directions import Direction, sign_of
from heliotrope.domains import (
    Choices,
    Contextual,
    Domain,
    DomainAdapter,
    PlaceLike,
    Places,
    all_choices,
)
from heliotrope.errors import HeliotropeError, InputError
from heliotrope.history import History, Observation, Suggestion
from heliotrope.ledger import Ledger, Visible
from heliotrope.live.avoiding import failure_before
from heliotrope.live.description import Live, decode_live, encode_live
from heliotrope.live.run import LiveRun, Told, check_weighing
from heliotrope.live.verbs import LiveVerbs
from heliotrope.policies import Policy
from heliotrope.policies.adaptive import AdaptiveAgent
from heliotrope.policies.run import PolicyRun
from heliotrope.precision import Noise, NoiseColumns, Precision, value_and_precision
from heliotrope.queries import Queries
from heliotrope.rng import RNGFactory, RNGStream
from heliotrope.serialization.archive import Archived, check_header, readable
from heliotrope.serialization.codec import Arrays, JsonTree, decode, encode, part, under
from heliotrope.spaces import Options, SearchSpace, SpaceLike, as_space, is_space_like
from heliotrope.spaces.adapter import NamedAdapter
from heliotrope.threads import Exclusive, exclusive
from heliotrope.validation import as_number


class Optimizer(Queries, LiveVerbs, Archived):
    """Ask where to measure, tell the results, and track the moving maximum or minimum.

    The domain is Finite, a Box, Contextual, a SearchSpace or Options. In a SearchSpace a point goes
    in and out as a dictionary (``params``), among Options as a name (``option``). A dictionary of
    parameters is a SearchSpace, and a list of names is Options. With
    ``direction="minimize"`` low values are good; values and prior means keep their sign. With
    ``live`` it keeps the limits, the baseline and the moves of a running system; see
    :class:`heliotrope.live.Live`.

    A suggestion depends only on the seed and on everything asked and told before. A call that
    raises one of this package's errors changes nothing. Several threads may share it: each call
    waits for the others.

    Examples
    --------
    >>> import heliotrope as ht
    >>> opt = ht.Optimizer(domain := ht.grid(5), ht.auto(domain), seed=0)
    >>> s = opt.ask()
    >>> opt.tell(s, 1.5)
    >>> opt.best().index == s.index
    True
    >>> space = ht.SearchSpace({"fan": ht.Integer(1, 3), "mode": ht.Categorical(["a", "b"])})
    >>> opt = ht.Optimizer(space, ht.auto(space), direction="minimize")
    >>> opt.tell(opt.begin({"fan": 2, "mode": "a"}), 0.5)
    >>> sorted(opt.best().params)
    ['fan', 'mode']
    """

    FORMAT = "heliotrope.optimizer"
    VERSION = 5  # 4 without failures; 3 without live rules; 2 or 1 as older files

    def __init__(
        self,
        domain: Domain | Contextual | SpaceLike,
        policy: Policy,
        seed: int = 0,
        *,
        direction: Direction | None = None,
        live: Live | None = None,
    ) -> None:
        self._exclusive = Exclusive()
        self._adapter = _adapter(domain)
        self._direction = _direction(direction, live)
        self._sign = sign_of(self._direction)
        self._rng = RNGStream(seed)
        self._run = PolicyRun(policy, self._adapter, self._sign)
        self._ledger = Ledger(self.domain.dimension)
        self._live = None if live is None else LiveRun(live, policy, self._adapter)
        if live is not None:
            check_weighing(self._run.agent)

    @property
    def domain(self) -> Domain:
        """The points to measure; of a contextual problem, choices joined to contexts."""
        return self._adapter.domain

    @property
    def contextual(self) -> Contextual | None:
        """The choices and contexts of a contextual problem."""
        return self._adapter.contextual

    @property
    def policy(self) -> Policy:
        """The policy that chooses points."""
        return self._run.policy

    @property
    def learner(self) -> AdaptiveAgent | None:
        """The agent of a policy that learns its model."""
        return self._run.learner

    @property
    def history(self) -> History:
        """All observations in the order told, as a sequence and as columns such as t, x and y."""
        return self._ledger.history

    @property
    def open(self) -> tuple[Suggestion, ...]:
        """Suggestions without a result, oldest first."""
        return tuple(self._ledger.open.values())

    @property
    def asked(self) -> int:
        """Number of suggestions made; their ids are 0, 1, 2, ..."""
        return self._ledger.asked

    @property
    def latest(self) -> float:
        """The latest time of a suggestion or observation; 0 if there is none."""
        return self._ledger.latest

    def is_open(self, id: int) -> bool:
        """Whether a suggestion is without a result."""
        return id in self._ledger.open

    def suggestion(self, id: int) -> Suggestion:
        """The open suggestion with an id; ClosedSuggestionError, UnknownSuggestionError."""
        return self._ledger.lookup(id)

    @exclusive
    def ask(self, t: float | None = None, *, context: ArrayLike | None = None) -> Suggestion:
        """Suggest where to measure at time t; by default 1, then one unit after the latest time.

        Only a contextual problem takes a ``context``. Open suggestions shrink the variance, so the
        next suggestion lies elsewhere. Times may repeat but never decrease.
        """
        return self._begin(self.propose(t, context=context))

    @exclusive
    def propose(self, t: float | None = None, *, context: ArrayLike | None = None) -> Suggestion:
        """Return what :meth:`ask` would suggest; changes nothing."""
        choices, t, id = self._adapter.choices(context), self._ledger.time(t), self.asked
        if self._live is None:
            return self._adapter.suggestion(id, t, self._choice(choices, t, self._rng.at(id)))
        place, reason = self._chosen(t, self.avoidance(), self._rng.at(id))
        return replace(self._adapter.suggestion(id, t, place), reason=reason)

    def _choice(self, choices: Choices | None, t: float, make_rng: RNGFactory) -> Places:
        """The policy's choice; another one where evaluations failed lately."""
        place, avoidance = self._run.choose(choices, t, make_rng), self.avoidance()
        if not avoidance.avoids(self._adapter.canonical(place))[0]:
            return place
        among = all_choices(self.domain) if choices is None else choices
        return avoidance.elsewhere(self._run.agent, among, t, make_rng)

    def next_time(self, t: float | None = None) -> float:
        """The time of the next suggestion: t if it can be one, by default one unit later."""
        return self._ledger.time(t)

    @exclusive
    def begin(self, x: PlaceLike, t: float | None = None) -> Suggestion:
        """Open an evaluation at a point (or index, params, option) that was chosen elsewhere.

        In a contextual problem the point is a choice joined to its context. Replaying a log of
        suggestions this way reproduces the optimizer that made them.
        """
        return self._begin(self.placed(x, t))

    def placed(self, x: PlaceLike, t: float | None = None) -> Suggestion:
        """Return what :meth:`begin` would open; changes nothing."""
        return self._adapter.suggestion_at(self.asked, self._ledger.time(t), x)

    def _begin(self, suggestion: Suggestion) -> Suggestion:
        self._run.open(suggestion)
        if self._live is not None:
            self._live.open(suggestion)
        self._ledger.begin(suggestion)
        return suggestion

    def tell(
        self,
        suggestion: Suggestion | int,
        y: SupportsFloat | Mapping[str, float] | None = None,
        **noise: Unpack[Noise],
    ) -> None:
        """Take the measured value of a suggestion (or its id), late or in any order.

        ``std`` is the standard error of y, and ``n`` the number of repeats that y averages. Instead
        of y, tell a proportion as ``successes`` and ``trials``, or a rate as ``count`` and
        ``exposure``. With ``live``, y is a value for each metric by name; some may be missing.
        Then ``std`` and the others are by name as well, or one number for all.
        """
        if isinstance(y, Mapping):
            self._observe_by_name(suggestion, self._told_by_name(y, noise))
        else:
            self.observe(suggestion, *value_and_precision(y, **noise))

    @exclusive
    def observe(self, suggestion: Suggestion | int, y: float, precision: Precision) -> None:
        """Take a value with its precision; :meth:`tell` converts its arguments to this form."""
        suggestion = self._ledger.lookup(suggestion)
        if self._live is not None:
            self._observe_named(suggestion, {self._live.live.lead: (y, precision)})
            return
        self._run.tell(suggestion.id, y, precision)
        self._ledger.tell(suggestion, y, precision)

    @exclusive
    def _observe_by_name(self, suggestion: Suggestion | int, told: Told) -> None:
        self._observe_named(self._ledger.lookup(suggestion), told)

    @exclusive
    def cancel(self, suggestion: Suggestion | int, *, avoid: bool = True) -> None:
        """Drop a failed evaluation; the posterior is as if it had not been asked for.

        Suggestions avoid its place for the next two asks, and twice as long after each further
        failure there. With ``avoid=False`` they do not, as if it had not been asked for.
        """
        suggestion = self._ledger.lookup(suggestion)
        self._run.agent.cancel(suggestion.id)
        if self._live is not None:
            self._live.cancel(suggestion.id)
        self._ledger.cancel(suggestion)
        if avoid:
            self._avoid(suggestion)

    @exclusive
    def avoid(self, id: int, t: float, x: ArrayLike | int) -> None:
        """Avoid the place of an evaluation that failed, and that was cancelled before."""
        self._avoid(self._adapter.suggestion_at(id, t, x))

    def _avoid(self, failed: Suggestion) -> None:
        self._ledger.fail(failed, failure_before(self.domain, self._ledger, failed.x))

    @exclusive
    def observe_cancelled(
        self, id: int, x: ArrayLike | int, t: float, y: float, precision: Precision
    ) -> None:
        """Record a result that came after its suggestion was cancelled.

        A policy that learns its model sees it at once, others when they are next built, by
        :meth:`reconsider`.
        """
        done = self._adapter.suggestion_at(id, t, x)
        late = Observation(done.t, done.x, y, done.index, id, precision)
        self._run.insert(late, id)
        self._ledger.add([late])

    @exclusive
    def set_back(self, latest: float) -> None:
        """Move all later times back to ``latest``.

        A policy that does not learn its model restarts without results.
        """
        self._ledger.set_back(as_number(latest, "latest"))
        if self._live is not None:
            self._live.set_back(latest, self.open)
        if self.learner is None:
            self.reconsider(self.policy, last=0)
        else:
            self.learner.set_back(latest)

    @exclusive
    def tell_many(
        self,
        t: ArrayLike,
        x: ArrayLike | Sequence[PlaceLike],
        y: ArrayLike | None = None,
        **noise: Unpack[NoiseColumns],
    ) -> None:
        """Take values measured elsewhere: times (n,), points (n, d), values (n,).

        In a named space the points are a list of params or options. In a Finite domain of several
        coordinates, points may be given as indices (n,). Times before the latest one are inserted
        in order, by a replay. The noise arguments are those of :meth:`tell`, as arrays (n,) with
        NaN where nothing is known, or one number for all.
        """
        added = self._adapter.observations(t, x, y, **noise)
        if added and self._ledger.is_past(added[0].t):
            run = PolicyRun(self.policy, self._adapter, self._sign)
            self._run = run.show([*self._ledger.visible.of(self.history), *added, *self.open])
        elif added:
            self._run = self._run.followed_by(added)
        self._ledger.add(added)

    @exclusive
    def reconsider(self, policy: Policy, last: int | None = None, since: float = -np.inf) -> None:
        """Continue with another policy, which sees all observations and open suggestions.

        With ``last`` it sees only the last observations, and only those ``since`` a time.
        """
        visible = Visible.last(self.history, last, since)
        run = PolicyRun(policy, self._adapter, self._sign)
        if self._live is not None:
            check_weighing(run.agent)
        run.show([*visible.of(self.history), *self.open])
        self._run, self._ledger.visible = run, visible

    @exclusive
    def parts(self) -> tuple[JsonTree, Arrays]:
        entries, arrays = self._ledger.parts()
        is_new = self.space is not None or self.direction == "minimize"
        version = 3 if is_new else 1 + self.history.has_own_noise
        header: JsonTree = {"format": self.FORMAT, "version": version}
        header |= _described(self.space or self._adapter.given, arrays)
        header |= {"direction": self.direction} if is_new else {}
        header["policy"] = encode(self.policy, arrays)
        header["seed"] = self._rng.seed
        if self._live is not None:
            header |= {"version": 4, "live": encode_live(self._live.live, arrays)}
            arrays |= under("live/", self._live.state())
        if self._ledger.failures:
            header["version"] = self.VERSION
        return header | entries, arrays | under("agent/", self._run.agent.state())

    def check_usable(self) -> None:
        with suppress(HeliotropeError):  # such as a context that is missing
            self.tell(self.ask(), 0.0)
            self.best()

    @classmethod
    def from_parts(cls, header: JsonTree, arrays: Arrays, source: str = "these parts") -> Optimizer:
        check_header(header, cls.FORMAT, cls.VERSION, source)
        with readable("a saved optimizer", source):
            domain, policy = _domain(header, arrays), decode(header["policy"], arrays)
            direction = header.get("direction", "maximize")
            live = decode_live(header["live"], arrays) if "live" in header else None
            optimizer = cls(domain, policy, header["seed"], direction=direction, live=live)
            optimizer._ledger.restore(header, arrays, optimizer._adapter.suggestion_at)
            optimizer._run.agent.restore(part(arrays, "agent/"))
            if optimizer._live is not None:
                optimizer._live.restore(part(arrays, "live/"))
        return optimizer


def _direction(given: Direction | None, live: Live | None) -> Direction:
    """The direction of the objective; that of the metrics, if they are named."""
    if live is None:
        return given or "maximize"
    wanted: Direction = "maximize" if live.objectives[live.lead] > 0.0 else "minimize"
    if given not in (None, wanted):
        raise InputError(f"the direction of the metrics, {wanted}", str(given), "", "direction")
    return wanted


def _adapter(domain: Domain | Contextual | SpaceLike) -> DomainAdapter:
    if is_space_like(domain):
        return NamedAdapter(as_space(domain))
    return DomainAdapter(domain)  # type: ignore[arg-type]  # refuses what is no domain


def _described(domain: Domain | Contextual | SearchSpace | Options, arrays: Arrays) -> JsonTree:
    """The domain or space in the header of a file."""
    if isinstance(domain, SearchSpace):
        return {"space": domain.to_json()}
    if isinstance(domain, Options):
        return {"options": domain.to_json()}
    return {"domain": encode(domain, arrays)}


def _domain(header: JsonTree, arrays: Arrays) -> Domain | Contextual | SearchSpace | Options:
    """Read what :func:`_described` wrote."""
    if "space" in header:
        return SearchSpace.from_json(header["space"])
    if "options" in header:
        return Options.from_json(header["options"])
    given: Domain | Contextual = decode(header["domain"], arrays)
    return given
