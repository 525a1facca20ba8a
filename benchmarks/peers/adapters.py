"""Adapters of the peers, each used as its documentation recommends.

Their packages are not installed in heliotrope's environment; each is imported when its peer
starts. All maximize. Peers without a model of time do not receive it. Peers that need initial
points get 2 d + 1 points of a Sobol sequence, at most 31; the others draw their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats.qmc import Sobol

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Told:
    """One result."""

    t: float
    x: list[float]
    y: float


class Peer(Protocol):
    """The interface of a peer."""

    def ask(self, t: float) -> Sequence[float]:
        """Return the point to measure at time t."""

    def tell(self, results: Sequence[Told]) -> None:
        """Receive results."""


class WDBO:
    """wdbo-algo: Matern 5/2 in space and time, alpha 0.25, as in its example.

    Its example counts time in minutes; a step is one second. It fails in single precision with
    this version of BoTorch, so torch is set to double precision.
    """

    def __init__(self, lower: Array, upper: Array, seed: int) -> None:
        import gpytorch
        import torch
        from wdbo_algo.optimizer import WDBOOptimizer

        np.random.seed(seed)  # noqa: NPY002 - the generator that it uses
        torch.manual_seed(seed)
        torch.set_default_dtype(torch.float64)
        matern = gpytorch.kernels.MaternKernel
        self._optimizer = WDBOOptimizer(
            np.column_stack([lower, upper]), matern, matern, [2.5], [2.5]
        )

    def ask(self, t: float) -> Sequence[float]:
        """The next query."""
        return list(self._optimizer.next_query(t / 60.0))

    def tell(self, results: Sequence[Told]) -> None:
        """Tell each result, then clean its memory; the last of several triggers a fit."""
        for left, one in zip(range(len(results), 0, -1), results, strict=True):
            if len(results) > 1:
                self._optimizer._n_initial_observations = left
            self._optimizer.tell(np.array(one.x), one.t / 60.0, one.y)
        self._optimizer.clean(results[-1].t / 60.0)


class XoptTD:
    """xopt's time-dependent UCB with its defaults; its wall clock shows the problem's time."""

    def __init__(self, lower: Array, upper: Array, seed: int) -> None:
        import pandas as pd
        import torch
        import xopt.generators.bayesian.time_dependent as clocked
        from xopt import VOCS
        from xopt.generators.bayesian.upper_confidence_bound import (
            TDUpperConfidenceBoundGenerator,
        )

        torch.manual_seed(seed)
        self._names = [f"x{i}" for i in range(len(lower))]
        bounds = dict(zip(self._names, np.column_stack([lower, upper]).tolist(), strict=True))
        vocs = VOCS(variables=bounds, objectives={"f": "MAXIMIZE"})
        self._generator = TDUpperConfidenceBoundGenerator(vocs=vocs, added_time=1e-3)
        self._frame, self._first = pd.DataFrame, InitialPoints(lower, upper)
        self._clock = clocked.time = Clock()

    def ask(self, t: float) -> Sequence[float]:
        """An initial point, or the candidate for the current time."""
        self._clock.now = t - 1e-3
        point = self._first.next()
        if point is not None:
            return point
        candidate = self._generator.generate(1)[0]
        return [float(candidate[name]) for name in self._names]

    def tell(self, results: Sequence[Told]) -> None:
        """Add the rows."""
        self._first.told(len(results))
        rows = [
            dict(zip(self._names, one.x, strict=True)) | {"time": one.t, "f": one.y}
            for one in results
        ]
        self._generator.add_data(self._frame(rows))


class Clock:
    """A clock that is set from outside, in place of the module ``time``."""

    now = 0.0

    def time(self) -> float:
        """Seconds."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        self.now += seconds


class BoTorch:
    """BoTorch: SingleTaskGP fitted at every step, UCB with beta 4, 10 restarts of 256 samples."""

    def __init__(self, lower: Array, upper: Array, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        self._torch, self._lower, self._width = torch, lower, upper - lower
        self._first = InitialPoints(lower, upper)
        self._told: list[Told] = []

    def ask(self, t: float) -> Sequence[float]:
        """An initial point, or the maximum of the acquisition."""
        from botorch.acquisition import UpperConfidenceBound
        from botorch.optim import optimize_acqf

        point = self._first.next()
        if point is not None:
            return point
        d = len(self._lower)
        cube = self._torch.stack([self._torch.zeros(d), self._torch.ones(d)]).double()
        best, _ = optimize_acqf(
            UpperConfidenceBound(self._model(), beta=4.0), cube, 1, num_restarts=10, raw_samples=256
        )
        return list(self._lower + self._width * best[0].numpy())

    def tell(self, results: Sequence[Told]) -> None:
        """Store the results."""
        self._first.told(len(results))
        self._told += results

    def _model(self) -> Any:
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        x = (np.array([one.x for one in self._told]) - self._lower) / self._width
        y = np.array([[one.y] for one in self._told])
        model = SingleTaskGP(self._torch.tensor(x), self._torch.tensor(y))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model


class Optuna:
    """Optuna's GPSampler with its defaults."""

    def __init__(self, lower: Array, upper: Array, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna = optuna
        bounds = np.column_stack([lower, upper]).tolist()
        self._space: dict[str, Any] = {
            f"x{i}": optuna.distributions.FloatDistribution(*ends) for i, ends in enumerate(bounds)
        }
        sampler = optuna.samplers.GPSampler(seed=seed)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._asked: Any = None

    def ask(self, t: float) -> Sequence[float]:
        """The parameters of a new trial."""
        self._asked = self._study.ask(self._space)
        return [self._asked.params[name] for name in self._space]

    def tell(self, results: Sequence[Told]) -> None:
        """Add finished trials; the asked trial fails, because its point was moved."""
        if self._asked is not None:
            self._study.tell(self._asked, state=self._optuna.trial.TrialState.FAIL)
        self._asked = None
        for one in results:
            trial = self._optuna.trial.create_trial(
                params=dict(zip(self._space, one.x, strict=True)),
                distributions=self._space,
                value=one.y,
            )
            self._study.add_trial(trial)


class BayesOpt:
    """bayesian-optimization with its defaults, except alpha = 0.01 of standardized values.

    Its default of 1e-6 interpolates noisy values. It starts with five random points, the default
    of its ``maximize``.
    """

    def __init__(self, lower: Array, upper: Array, seed: int) -> None:
        from bayes_opt import BayesianOptimization

        self._names = [f"x{i}" for i in range(len(lower))]
        bounds = {name: (a, b) for name, a, b in zip(self._names, lower, upper, strict=True)}
        self._optimizer = BayesianOptimization(
            f=None, pbounds=bounds, random_state=seed, verbose=0, allow_duplicate_points=True
        )
        self._optimizer.set_gp_params(alpha=0.01)
        self._first = InitialPoints(
            lower, upper, np.random.default_rng(seed).random((5, len(lower)))
        )

    def ask(self, t: float) -> Sequence[float]:
        """An initial point, or its suggestion."""
        point = self._first.next()
        if point is not None:
            return point
        suggested = self._optimizer.suggest()
        return [float(suggested[name]) for name in self._names]

    def tell(self, results: Sequence[Told]) -> None:
        """Register the results."""
        self._first.told(len(results))
        for one in results:
            self._optimizer.register(dict(zip(self._names, one.x, strict=True)), one.y)


class SkOpt:
    """scikit-optimize's Optimizer with its defaults (a GP, "gp_hedge")."""

    def __init__(self, lower: Array, upper: Array, seed: int) -> None:
        from skopt import Optimizer

        bounds = [tuple(ends) for ends in np.column_stack([lower, upper]).tolist()]
        self._optimizer = Optimizer(bounds, random_state=seed)

    def ask(self, t: float) -> Sequence[float]:
        """Its suggestion."""
        return [float(value) for value in self._optimizer.ask()]

    def tell(self, results: Sequence[Told]) -> None:
        """Tell negative values, because it minimizes."""
        if len(results) == 1:
            self._optimizer.tell(results[0].x, -results[0].y)
        else:
            self._optimizer.tell([one.x for one in results], [-one.y for one in results])


class InitialPoints:
    """Initial points of a peer: given unit points, or 2 d + 1 Sobol points, at most 31."""

    def __init__(self, lower: Array, upper: Array, unit: Array | None = None) -> None:
        d = len(lower)
        points = Sobol(d, scramble=False).random_base2(5)[1 : 2 * d + 2] if unit is None else unit
        self._points: list[list[float]] = (lower + (upper - lower) * points).tolist()

    def next(self) -> list[float] | None:
        """The next remaining point, if any."""
        return self._points[0] if self._points else None

    def told(self, count: int) -> None:
        """Remove this many points."""
        del self._points[:count]


PEERS = {
    "wdbo-algo": WDBO,
    "xopt": XoptTD,
    "botorch": BoTorch,
    "optuna": Optuna,
    "bayesian-optimization": BayesOpt,
    "scikit-optimize": SkOpt,
}
"""The peers by the names of their packages."""
