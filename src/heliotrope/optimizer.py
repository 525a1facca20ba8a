"""The ask/tell interface to a policy: a tracker in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import Any, SupportsFloat, Unpack

import numpy as np
from numpy.typing import ArrayLike

from heliotrope.directions import Direction
from heliotrope.domains import Contextual, Domain, PlaceLike
from heliotrope.errors import InputError, located
from heliotrope.ledger import History, Suggestion
from heliotrope.live.beliefs import policy_of
from heliotrope.live.rules import Live
from heliotrope.policies import Policy
from heliotrope.policies.adaptive import AdaptiveAgent
from heliotrope.precision import (
    Noise,
    NoiseColumns,
    Precision,
    check_size,
    value_and_precision,
)
from heliotrope.queries import Queries
from heliotrope.serialization.archive import Archived, check_header, readable
from heliotrope.serialization.codec import Arrays, JsonTree
from heliotrope.spaces import SpaceLike, as_space, is_space_like
from heliotrope.surroundings import Exclusive, exclusive
from heliotrope.tracker import Results, check_weighing
from heliotrope.tracker.archives import FORMAT, VERSION, OptimizerConfig, archived, unarchived
from heliotrope.validation import short_repr


class Optimizer(Queries, Archived):
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

    FORMAT, VERSION = FORMAT, VERSION

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
        if not isinstance(live, (Live, NoneType)):
            raise InputError(
                "rules such as Live(limits=...), or None", short_repr(live), "", "live"
            )
        problem = as_space(domain) if is_space_like(domain) else domain
        self._config = OptimizerConfig(problem, policy, _direction(direction, live), seed, live)  # type: ignore[arg-type]  # refuses what is no domain
        self._tracker = self._config.tracker()
        self._lead = self._tracker.lead
        if live is not None:
            check_weighing(self._lead.agent)

    @property
    def domain(self) -> Domain:
        """The points to measure; of a contextual problem, choices joined to contexts."""
        return self._lead.domain

    @property
    def contextual(self) -> Contextual | None:
        """The choices and contexts of a contextual problem."""
        return self._lead.contextual

    @property
    def policy(self) -> Policy:
        """The policy that chooses points."""
        return self._config.policy

    @property
    def learner(self) -> AdaptiveAgent | None:
        """The agent of a policy that learns its model."""
        return self._lead.learner

    @property
    def history(self) -> History:
        """All observations in the order told, as a sequence and as columns such as t, x and y."""
        return self._lead.history

    @property
    def open(self) -> tuple[Suggestion, ...]:
        """Suggestions without a result, oldest first."""
        return self._lead.open

    @property
    def asked(self) -> int:
        """Number of suggestions made; their ids are 0, 1, 2, ..."""
        return self._lead.asked

    @property
    def latest(self) -> float:
        """The latest time of a suggestion or observation; 0 if there is none."""
        return self._lead.latest

    def is_open(self, id: int) -> bool:
        """Whether a suggestion is without a result."""
        return self._lead.is_open(id)

    def suggestion(self, id: int) -> Suggestion:
        """The open suggestion with an id; ClosedSuggestionError, UnknownSuggestionError."""
        return self._lead.suggestion(id)

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
        return self._tracker.propose(t, context)

    def next_time(self, t: float | None = None) -> float:
        """The time of the next suggestion: t if it can be one, by default one unit later."""
        return self._lead.next_time(t)

    @exclusive
    def begin(self, x: PlaceLike, t: float | None = None) -> Suggestion:
        """Open an evaluation at a point (or index, params, option) that was chosen elsewhere.

        In a contextual problem the point is a choice joined to its context. Replaying a log of
        suggestions this way reproduces the optimizer that made them.
        """
        return self._begin(self.placed(x, t))

    def placed(self, x: PlaceLike, t: float | None = None) -> Suggestion:
        """Return what :meth:`begin` would open; changes nothing."""
        return self._lead.placed(x, t)

    def _begin(self, suggestion: Suggestion) -> Suggestion:
        self._tracker.begin(suggestion)
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
            self._observe(suggestion, _by_name(self._tracker.rules.live, y, noise))
        else:
            self.observe(suggestion, *value_and_precision(y, **noise))

    def observe(self, suggestion: Suggestion | int, y: float, precision: Precision) -> None:
        """Take a value with its precision; :meth:`tell` converts its arguments to this form."""
        self._check_one_metric()
        self._observe(suggestion, {self._tracker.leading: (y, precision)})

    def _check_one_metric(self) -> None:
        """Refuse a value without a name among several metrics."""
        names = list(self._tracker.metrics)
        if len(names) > 1:
            advice = f'Tell values by name, such as {{"{names[0]}": 1.5}}.'
            raise InputError(f"metrics among {', '.join(names)}", "a value alone", advice, "y")

    @exclusive
    def _observe(self, suggestion: Suggestion | int, results: Results) -> None:
        tracker, asked = self._tracker, self._lead.ledger.lookup(suggestion)
        tracker.tell(asked, results, tracker.errors_of(asked.id, results))
        gain = tracker.gain_of(asked)
        if gain is not None:
            tracker.gain(gain)

    @exclusive
    def cancel(self, suggestion: Suggestion | int, *, avoid: bool = True) -> None:
        """Drop a failed evaluation; the posterior is as if it had not been asked for.

        Suggestions avoid its setting for the next two asks, and twice as long after each further
        failure there. With ``avoid=False`` they do not, as if it had not been asked for.
        """
        self._tracker.cancel(self._lead.ledger.lookup(suggestion).id, avoid=avoid)

    @exclusive
    def observe_cancelled(
        self, id: int, x: ArrayLike | int, t: float, y: float, precision: Precision
    ) -> None:
        """Take a result that came after its suggestion was cancelled."""
        self._check_one_metric()
        late = self._lead.adapter.suggestion_at(id, t, x)
        self._tracker.tell_late(late, {self._tracker.leading: (y, precision)})

    @exclusive
    def set_back(self, latest: float) -> None:
        """Move all later times back to ``latest``."""
        self._tracker.set_back(latest)

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
        NaN where nothing is known, or one number for all. With several metrics use :meth:`begin`
        and :meth:`tell` instead.
        """
        self._check_one_metric()
        self._tracker.add(self._lead.adapter.observations(t, x, y, **noise))

    @exclusive
    def reconsider(self, policy: Policy, last: int | None = None, since: float = -np.inf) -> None:
        """Continue with another policy, which sees all observations and open suggestions.

        With ``last`` it sees only the last observations, and only those ``since`` a time.
        """
        setup = self._tracker.setup
        own = policy if setup is None else policy_of(setup.live, self._tracker.leading, policy)
        self._lead.reconsider(own, last, since, weighing=setup is not None)
        self._config = replace(self._config, policy=policy)

    @exclusive
    def applied(self, x: PlaceLike) -> None:
        """Say that another choice than the latest measured one runs now."""
        self._tracker.rules  # noqa: B018 - raises an error without rules
        self._tracker.apply(self._lead.adapter.choice(x))

    # ---- files

    @exclusive
    def parts(self) -> tuple[JsonTree, Arrays]:
        policies = {name: metric.policy for name, metric in self._tracker.metrics.items()}
        return archived(self._config, self._tracker, policies)

    @classmethod
    def from_parts(cls, header: JsonTree, arrays: Arrays, source: str = "these parts") -> Optimizer:
        """Return the optimizer of an archive; that of a study has its results and open asks."""
        check_header(header, cls.FORMAT, cls.VERSION, source)
        optimizer = cls.__new__(cls)
        optimizer._exclusive = Exclusive()
        with readable("a saved optimizer", source):
            optimizer._config, optimizer._tracker = unarchived(header, arrays)
        optimizer._lead = optimizer._tracker.lead
        return optimizer


def _direction(direction: Direction | None, live: Live | None) -> Direction:
    """The direction of the objective; that of the metrics, if they are named."""
    if live is None:
        return "maximize" if direction is None else direction
    wanted = live.direction(live.lead)
    if direction not in (None, wanted):
        raise InputError(f"the direction of the metrics, {wanted}", str(direction), "", "direction")
    return wanted


def _by_name(live: Live, values: Mapping[str, Any], noise: Noise) -> Results:
    """Values and precisions by metric, checked."""
    if not values:
        raise InputError("a value of some metric", "none", "Cancel what failed.", "y")
    for key, numbers in noise.items():
        unknown = set(numbers) - set(values) if isinstance(numbers, Mapping) else ()
        for name in unknown:
            raise InputError(f"{key} of metrics that have a value", short_repr(name), "", key)
    told = {}
    for name, value in values.items():
        if name not in live.metrics:
            names = ", ".join(live.metrics)
            raise InputError(f"metrics among {names}", short_repr(name), "", "y")
        own: Noise = {key: _of_metric(number, name) for key, number in noise.items()}  # type: ignore[assignment]
        with located(name):
            y, precision = value_and_precision(value, **own)
            told[name] = check_size(y), precision
    return told


def _of_metric(number: Any, name: str) -> Any:
    """The noise of one metric; a number is that of all."""
    return number.get(name) if isinstance(number, Mapping) else number
