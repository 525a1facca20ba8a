"""Bad input raises an error of this package, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import RBF, DotProduct, Kernel, PairwiseKernel, WhiteKernel

import heliotrope as ht
from heliotrope.acquisition import LogBeta, RBeta, TVBeta
from heliotrope.errors import (
    ClosedSuggestionError,
    HeliotropeError,
    InputError,
    KernelError,
    NoBeliefError,
    TimeError,
    UnknownSuggestionError,
)
from heliotrope.policies import GPPolicy
from heliotrope.posterior import BoxOptions, DenseOptions, FiniteOptions
from heliotrope.validation import Array
from strategies import PRIOR, SETUPS, assert_same, bad_numbers, fixed, play, refusal, square

OPEN, TOLD, CANCELLED = 4, 0, 5  # ids in what play() leaves
NAN, INF = float("nan"), float("inf")

setups = pytest.mark.parametrize("setup", SETUPS.values(), ids=SETUPS)


def assert_refused(
    setup: Callable[[], ht.Optimizer],
    kind: type[HeliotropeError],
    *calls: Callable[[ht.Optimizer], object],
) -> None:
    """Each call raises that error and leaves the optimizer the twin of an untouched one."""
    optimizer = play(setup())
    for call in calls:
        with refusal(kind):
            call(optimizer)
    assert_same(optimizer, play(setup()))


def tells(id: Any, y: Any) -> Callable[[ht.Optimizer], object]:
    return lambda opt: opt.tell(id, y)


def at_time(t: Any) -> list[Callable[[ht.Optimizer], object]]:
    return [
        lambda opt: opt.ask(t),
        lambda opt: opt.belief(t, [[0.5, 0.5]]),
        lambda opt: opt.best(t),
    ]


@setups
@given(values=st.lists(bad_numbers, min_size=10, max_size=10))
@fixed(3)
def test_a_value_that_is_not_finite(setup: Callable[[], ht.Optimizer], values: list[Any]) -> None:
    assert_refused(setup, InputError, *(tells(OPEN, y) for y in values))


@setups
@given(times=st.lists(bad_numbers.filter(lambda t: t is not None), min_size=10, max_size=10))
@fixed(3)
def test_a_time_that_is_not_finite(setup: Callable[[], ht.Optimizer], times: list[Any]) -> None:
    assert_refused(setup, InputError, *(call for t in times for call in at_time(t)))


@setups
@given(early=st.floats(min_value=1e-9, max_value=1e9))
@fixed(4)
def test_asking_before_the_latest_time(setup: Callable[[], ht.Optimizer], early: float) -> None:
    assert_refused(setup, TimeError, lambda opt: opt.ask(6.0 - early))


@pytest.mark.parametrize("name", ["finite", "box", "restart"])
@given(early=st.floats(min_value=1e-9, max_value=1e9))
@fixed(4)
def test_a_belief_about_the_past_of_a_recursion(name: str, early: float) -> None:
    assert_refused(SETUPS[name], TimeError, *at_time(6.0 - early))


@setups
@given(id=st.integers().filter(lambda id: not 0 <= id <= CANCELLED))
@fixed(4)
def test_an_id_never_given(setup: Callable[[], ht.Optimizer], id: int) -> None:
    assert_refused(
        setup,
        UnknownSuggestionError,
        lambda opt: opt.tell(id, 1.0),
        lambda opt: opt.cancel(id),
    )


@pytest.mark.parametrize("id", [None, "4", 4.0, True, [4], np.array([4]), {}])
def test_an_id_of_the_wrong_type(id: Any) -> None:
    calls = [lambda opt: opt.tell(id, 1.0), lambda opt: opt.cancel(id)]
    assert_refused(SETUPS["finite"], InputError, *calls)


@setups
def test_a_suggestion_of_another_optimizer(setup: Callable[[], ht.Optimizer]) -> None:
    elsewhere = setup()
    foreign = [elsewhere.ask(t=17.0) for _ in range(OPEN + 1)][OPEN]
    assert_refused(
        setup,
        UnknownSuggestionError,
        lambda opt: opt.tell(foreign, 1.0),
        lambda opt: opt.cancel(foreign),
    )


@setups
@pytest.mark.parametrize("id", [TOLD, CANCELLED], ids=["told", "cancelled"])
def test_a_suggestion_that_is_closed(setup: Callable[[], ht.Optimizer], id: int) -> None:
    assert_refused(
        setup,
        ClosedSuggestionError,
        lambda opt: opt.tell(id, 1.0),
        lambda opt: opt.cancel(id),
        lambda opt: opt.tell(ht.Suggestion(id, 1.0, np.zeros(2)), 1.0),
    )


NO_POINTS: list[Any] = [
    *(0.5, [0.5, 0.5], [[0.5]], [[0.5] * 3], [[[0.5, 0.5]]], [[NAN, 0.5]], [[0.5, -INF]]),
    *([["a", "b"]], [[0.5], [0.5, 0.5]], [[1j, 0.5]], [[None, 0.5]]),
]


@setups
def test_invalid_points_of_a_belief(setup: Callable[[], ht.Optimizer]) -> None:
    def at(X: Any) -> Callable[[ht.Optimizer], object]:
        return lambda opt: opt.belief(9.0, X)

    assert_refused(setup, InputError, *(at(X) for X in NO_POINTS))


@pytest.mark.parametrize("name", ["box", "dense box"])
def test_a_belief_over_a_box_needs_points(name: str) -> None:
    assert_refused(SETUPS[name], InputError, lambda opt: opt.belief())


PAST: dict[str, tuple[Any, Any, Any]] = {
    "fewer times": ([7.0], [[0.5, 0.5]] * 2, [1.0] * 2),
    "fewer points": ([7.0, 8.0], [[0.5, 0.5]], [1.0] * 2),
    "more values": ([7.0, 8.0], [[0.5, 0.5]] * 2, [1.0] * 3),
    "one number as time": (7.0, [[0.5, 0.5]], [1.0]),
    "one number as value": ([7.0], [[0.5, 0.5]], 1.0),
    "NaN time": ([7.0, NAN], [[0.5, 0.5]] * 2, [1.0] * 2),
    "infinite time": ([7.0, INF], [[0.5, 0.5]] * 2, [1.0] * 2),
    "NaN value": ([7.0, 8.0], [[0.5, 0.5]] * 2, [1.0, NAN]),
    "complex value": ([7.0, 8.0], [[0.5, 0.5]] * 2, [1.0, 1j]),
    "text as value": ([7.0, 8.0], [[0.5, 0.5]] * 2, [1.0, "2"]),
    "None as value": ([7.0, 8.0], [[0.5, 0.5]] * 2, [1.0, None]),
    "NaN point": ([7.0, 8.0], [[0.5, 0.5], [0.5, NAN]], [1.0] * 2),
    "point off the domain": ([7.0, 8.0], [[0.5, 0.5], [0.5, 1.1]], [1.0] * 2),
    "an older one off the domain": ([1.0, 8.0], [[0.5, -0.1], [0.5, 0.5]], [1.0] * 2),
    "ragged points": ([7.0, 8.0], [[0.5, 0.5], [0.5]], [1.0] * 2),
    "points of three coordinates": ([7.0], [[0.5, 0.5, 0.5]], [1.0]),
}


@setups
def test_past_data_all_or_nothing(setup: Callable[[], ht.Optimizer]) -> None:
    def past(t: Any, x: Any, y: Any) -> Callable[[ht.Optimizer], object]:
        return lambda opt: opt.tell_many(t, x, y)

    assert_refused(setup, InputError, *(past(*data) for data in PAST.values()))


@pytest.mark.parametrize("indices", [[0, 25], [-1, 0], [10**6, 3]])
def test_past_data_at_indices_out_of_range(indices: list[int]) -> None:
    assert_refused(
        SETUPS["finite"], InputError, lambda opt: opt.tell_many([7.0, 8.0], indices, [1.0, 1.0])
    )


def test_nothing_told_at_once_changes_nothing() -> None:
    optimizer = play(SETUPS["finite"]())
    optimizer.tell_many([], np.empty((0, 2)), [])
    assert_same(optimizer, play(SETUPS["finite"]()))


def test_the_uniform_policy_has_no_belief() -> None:
    def setup() -> ht.Optimizer:
        return ht.Optimizer(ht.grid(5, 5), ht.uniform(), seed=3)

    optimizer, twin = setup(), setup()
    for call in (optimizer.belief, optimizer.best):
        with refusal(NoBeliefError):
            call()
    assert [optimizer.ask().index for _ in range(5)] == [twin.ask().index for _ in range(5)]


class Indefinite(Kernel):  # type: ignore[misc]  # scikit-learn has no types
    """Minus a distance: symmetric, and not positive definite."""

    def __init__(self) -> None:  # scikit-learn reads the parameters off it
        super().__init__()

    def __call__(self, X: Array, Y: Array | None = None, eval_gradient: bool = False) -> Array:
        gaps = np.abs(X[:, None, :] - (X if Y is None else Y)[None, :, :]).sum(axis=2)
        return np.asarray(0.1 - gaps)

    def diag(self, X: Array) -> Array:
        return np.full(len(X), 0.1)

    def is_stationary(self) -> bool:
        return True


class Lopsided(Indefinite):
    """k(x, y) is not k(y, x)."""

    def __call__(self, X: Array, Y: Array | None = None, eval_gradient: bool = False) -> Array:
        return np.asarray(np.exp(X[:, :1] - 2.0 * (X if Y is None else Y)[:, 0]))


class Undefined(Indefinite):
    """NaN everywhere."""

    def __call__(self, X: Array, Y: Array | None = None, eval_gradient: bool = False) -> Array:
        return super().__call__(X, Y) * NAN


def started(domain: ht.Finite | ht.Box, **prior: Any) -> ht.Optimizer:
    return ht.Optimizer(domain, ht.tv_gp_ucb(ht.Prior(**prior)))


@pytest.mark.parametrize(
    "space",
    [
        Indefinite(),
        Lopsided(),
        Undefined(),
        PairwiseKernel(metric="sigmoid"),
        -1.0 * RBF(0.3),
        RBF([0.1, 0.2, 0.3]),
        RBF(NAN),
    ],
    ids=["indefinite", "lopsided", "undefined", "sigmoid", "negative", "3-d", "NaN"],
)
@pytest.mark.parametrize("domain", [ht.grid(5, 5), square()], ids=["grid", "box"])
def test_a_kernel_unfit_for_the_domain(domain: ht.Finite | ht.Box, space: Kernel) -> None:
    with refusal(KernelError):
        started(domain, space=space)


@given(
    eigenvalues=st.lists(st.floats(1e-3, 1.0), min_size=2, max_size=6),
    negative=st.floats(-1.0, -1e-6),
    seed=st.integers(0, 100),
)
@fixed(30)
def test_a_table_with_a_negative_eigenvalue(
    eigenvalues: list[float], negative: float, seed: int
) -> None:
    size = 1 + len(eigenvalues)
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))
    K = Q @ np.diag([negative, *eigenvalues]) @ Q.T
    with refusal(KernelError):
        ht.Tabulated((K + K.T) / 2)


SUM = [ht.terms.Stays(RBF(0.3)), ht.terms.Level(1.0)]


def over_four(table: ht.Tabulated) -> ht.Optimizer:
    prior = ht.Prior(terms=[ht.terms.Stays(table), ht.terms.Level(1.0)])
    return ht.Optimizer(ht.grid(4), ht.tv_gp_ucb(prior))


def learning(prior: ht.Prior) -> object:
    return ht.tv_gp_ucb(prior, learn=ht.Learn())


def all_three() -> ht.Prior:
    return ht.Prior(RBF(), ht.Static(), terms=[ht.terms.Drifts(RBF(), 0.1)])


def parted(part: Any) -> object:
    return ht.Optimizer(ht.grid(4), ht.tv_gp_ucb(ht.Prior(terms=SUM))).belief(1.0, part=part)


def wdbo_of(prior: ht.Prior) -> object:
    return ht.Optimizer(ht.grid(5), ht.policies.wdbo(prior))


REFUSED_PARTS: list[tuple[str, type[HeliotropeError], Callable[[], object]]] = [
    ("table, not symmetric", KernelError, lambda: ht.Tabulated([[1.0, 0.5], [0.4, 1.0]])),
    ("table, not square", KernelError, lambda: ht.Tabulated([[1.0, 0.5]])),
    ("table, empty", KernelError, lambda: ht.Tabulated(np.empty((0, 0)))),
    ("table, NaN", InputError, lambda: ht.Tabulated([[1.0, NAN], [NAN, 1.0]])),
    ("table, a vector", InputError, lambda: ht.Tabulated([1.0, 2.0])),
    ("table over a box", KernelError, lambda: started(square(), space=ht.Tabulated(np.eye(2)))),
    ("table of 3 for 4", KernelError, lambda: started(ht.grid(4), space=ht.Tabulated(np.eye(3)))),
    ("white noise in a box", KernelError, lambda: started(square(), space=RBF() + WhiteKernel())),
    ("space of another type", KernelError, lambda: ht.Prior("RBF")),
    ("time not stationary", KernelError, lambda: ht.Prior(time=DotProduct())),
    ("time with white noise", KernelError, lambda: ht.Prior(time=RBF() + WhiteKernel())),
    ("time of another type", KernelError, lambda: ht.Prior(time=0.1)),
    ("no terms", InputError, lambda: ht.Prior(terms=[])),
    ("terms that are kernels", InputError, lambda: ht.Prior(terms=[RBF()])),
    ("terms a text", InputError, lambda: ht.Prior(terms="season")),  # type: ignore[arg-type]
    ("terms and a space", InputError, lambda: ht.Prior(RBF(), terms=SUM)),
    ("terms and a time", InputError, lambda: ht.Prior(time=ht.Static(), terms=SUM)),
    ("term of a text", KernelError, lambda: ht.terms.Stays("RBF")),
    ("term of variance 0", KernelError, lambda: ht.terms.Stays(0.0)),
    ("term of variance NaN", KernelError, lambda: ht.terms.Season(NAN, period=2.0)),
    ("level of variance -1", InputError, lambda: ht.terms.Level(-1.0)),
    ("term that is named choice", InputError, lambda: ht.terms.Level(1.0, name="choice")),
    ("term that is named noise", InputError, lambda: ht.terms.Stays(RBF(), name="noise")),
    ("season of period 0", InputError, lambda: ht.terms.Season(RBF(), period=0.0)),
    ("season of half a harmonic", InputError, lambda: ht.terms.Season(RBF(), 9.0, 0.5)),  # type: ignore[arg-type]
    ("season of no harmonic", InputError, lambda: ht.terms.Season(RBF(), 9.0, 0)),
    ("trend of unit 0", InputError, lambda: ht.terms.Trend(RBF(), unit=0.0)),
    ("trend from NaN", InputError, lambda: ht.terms.Trend(RBF(), origin=NAN)),
    ("smooth of length 0", InputError, lambda: ht.terms.Smooth(RBF(), length=0.0)),
    ("season of a tiny period", InputError, lambda: ht.terms.Season(RBF(), 5e-324)),
    ("season of a million harmonics", InputError, lambda: ht.terms.Season(RBF(), 9.0, 10**6)),
    ("trend of a tiny unit", InputError, lambda: ht.terms.Trend(RBF(), unit=1e-300)),
    ("smooth of a tiny length", InputError, lambda: ht.terms.Smooth(RBF(), 1e-160)),
    ("term that is named 0", InputError, lambda: ht.terms.Stays(RBF(), name=0)),  # type: ignore[arg-type]
    ("one term, a space and a time", InputError, lambda: all_three()),
    ("part of a list", InputError, lambda: parted(["stays"])),
    ("smooth of nu 0.5", InputError, lambda: ht.terms.Smooth(RBF(), 5.0, nu=0.5)),
    ("drift above 1", InputError, lambda: ht.terms.Drifts(RBF(), epsilon=1.1)),
    ("table of 3 in a sum for 4", KernelError, lambda: over_four(ht.Tabulated(np.eye(3)))),
    ("sum for a static policy", InputError, lambda: ht.gp_ucb(ht.Prior(terms=SUM))),
    ("sum for restarts", InputError, lambda: ht.r_gp_ucb(ht.Prior(terms=SUM), every=10)),
    ("sum with a learned drift", InputError, lambda: learning(ht.Prior(terms=SUM))),
    ("sum in W-DBO", InputError, lambda: wdbo_of(ht.Prior(terms=SUM))),
    ("mean too short", InputError, lambda: started(ht.grid(5), mean=np.zeros(4))),
    ("mean over a box", InputError, lambda: started(square(), mean=np.zeros(2))),
    ("mean with NaN", InputError, lambda: ht.Prior(mean=np.array([0.0, NAN]))),
    ("mean a matrix", InputError, lambda: ht.Prior(mean=np.zeros((2, 2)))),
    ("no points", InputError, lambda: ht.Finite(np.empty((0, 2)))),
    ("points without coordinates", InputError, lambda: ht.Finite(np.empty((2, 0)))),
    ("points ragged", InputError, lambda: ht.Finite([[0.0], [0.0, 1.0]])),
    ("points NaN", InputError, lambda: ht.Finite(np.array([[0.0, NAN]]))),
    ("points as text", InputError, lambda: ht.Finite(np.array([["0", "1"]]))),
    ("points of three levels", InputError, lambda: ht.Finite(np.zeros((2, 2, 2)))),
    ("grid of nothing", InputError, lambda: ht.grid()),
    ("grid of 0", InputError, lambda: ht.grid(5, 0)),
    ("grid of -3", InputError, lambda: ht.grid(-3)),
    ("grid of 2.5", InputError, lambda: ht.grid(2.5)),  # type: ignore[arg-type]
    ("grid with bounds of 3", InputError, lambda: ht.grid(5, 5, lower=[0, 0, 0])),
    ("domain a list", InputError, lambda: ht.Optimizer([[0.0]], ht.uniform())),  # type: ignore[list-item]
    ("policy a prior", InputError, lambda: ht.Optimizer(ht.grid(5), PRIOR)),  # type: ignore[arg-type]
    ("prior a kernel", InputError, lambda: ht.tv_gp_ucb(RBF())),
    ("engine unknown", InputError, lambda: ht.tv_gp_ucb(PRIOR, engine="fast")),
    ("finite engine in a box", InputError, lambda: engine(square(), "finite")),
    ("box engine on a grid", InputError, lambda: engine(ht.grid(5, 5), "box")),
    ("finite engine, any time", InputError, lambda: any_time(ht.grid(5), "finite")),
    ("box engine, any time", InputError, lambda: any_time(square(), "box")),
    ("finite tolerance 0", InputError, lambda: FiniteOptions(tolerance=0.0)),
    ("dense window 0", InputError, lambda: DenseOptions(window=0)),
    ("box budget 1", InputError, lambda: BoxOptions(budget=1)),
    ("first index out of range", InputError, lambda: first(25)),
    ("first point off the domain", InputError, lambda: first([0.1, 0.1])),
    ("first point NaN", InputError, lambda: first([NAN, 0.0])),
    ("first of one coordinate", InputError, lambda: first([0.5])),
    ("first of another word", InputError, lambda: first("best")),
]


def engine(domain: ht.Finite | ht.Box, name: str) -> ht.Optimizer:
    return ht.Optimizer(domain, ht.tv_gp_ucb(PRIOR, engine=name))


def any_time(domain: ht.Finite | ht.Box, name: str) -> ht.Optimizer:
    return ht.Optimizer(domain, ht.tv_gp_ucb(ht.Prior(time=RBF(3.0)), engine=name))


def first(point: Any) -> ht.Optimizer:
    return ht.Optimizer(ht.grid(5, 5), ht.tv_gp_ucb(PRIOR, first=point))


@pytest.mark.parametrize(
    ("kind", "make"), [p[1:] for p in REFUSED_PARTS], ids=[p[0] for p in REFUSED_PARTS]
)
def test_a_part_that_does_not_fit(kind: type[HeliotropeError], make: Callable[[], object]) -> None:
    with refusal(kind):
        make()


PARAMETERS: dict[str, Callable[[Any], object]] = {
    "epsilon": ht.Forgetting,
    "noise": lambda noise: ht.Prior(noise=noise),
    "seed": lambda seed: ht.Optimizer(ht.grid(5), ht.uniform(), seed),
    "beta": ht.acquisition.ConstantBeta,
    "beta of UCB": ht.UCB,
    "c1": lambda c1: LogBeta(c1, 4.0),
    "c2": lambda c2: LogBeta(0.8, c2),
    "delta": TVBeta,
    "dimension": lambda d: RBeta(0.1, d),
    "r": lambda r: TVBeta(0.1, 1, r),
    "a": lambda a: RBeta(0.1, 1, 1.0, a),
    "b": lambda b: TVBeta(0.1, 1, 1.0, 1.0, b),
    "every": lambda every: ht.r_gp_ucb(PRIOR, every),
    "count": ht.grid,
    "mean": lambda mean: ht.Prior(mean=mean),
    "lower": lambda lower: ht.Box(lower, [1.0] * 4),
    "tolerance": lambda tolerance: FiniteOptions(tolerance if tolerance is not None else NAN),
    "acquisition": lambda beta: GPPolicy(PRIOR, ht.UCB(beta)),
}


@pytest.mark.parametrize("make", PARAMETERS.values(), ids=PARAMETERS)
@given(value=bad_numbers.filter(lambda v: not isinstance(v, (list, np.ndarray))))
@fixed(20)
def test_a_parameter_that_is_not_a_number(make: Callable[[Any], object], value: Any) -> None:
    with refusal(InputError):
        make(value)


@given(value=st.floats(max_value=-1e-300, allow_infinity=False))
@pytest.mark.parametrize("name", sorted(set(PARAMETERS) - {"mean", "lower"}))
@fixed(10)
def test_a_parameter_below_zero(name: str, value: float) -> None:
    with refusal(InputError):
        PARAMETERS[name](value)


@pytest.mark.parametrize(
    "name", ["noise", "c1", "c2", "delta", "dimension", "r", "a", "b", "every", "count"]
)
def test_a_parameter_that_must_not_be_zero(name: str) -> None:
    with refusal(InputError):
        PARAMETERS[name](0.0)


@pytest.mark.parametrize("name", ["seed", "dimension", "count"])
@given(value=st.floats(1.0, 1e6).filter(lambda v: v != int(v)))
@fixed(10)
def test_a_count_that_is_a_fraction(name: str, value: float) -> None:
    with refusal(InputError):
        PARAMETERS[name](value)


@given(value=st.floats(min_value=1.0, exclude_min=True, allow_infinity=False))
@fixed(10)
def test_a_share_above_one(value: float) -> None:
    for name in ("epsilon", "delta"):
        with refusal(InputError):
            PARAMETERS[name](value)


@pytest.mark.parametrize("truth", [True, np.False_])
def test_a_boolean_is_not_a_number(truth: Any) -> None:
    contextual = ht.Optimizer(
        ht.Contextual(ht.grid(3), ht.Box([0.0, 0.0], [1.0, 1.0])), ht.gp_ucb(PRIOR)
    )
    calls: list[Callable[[], object]] = [
        lambda: ht.policies.sw_gp_ucb(PRIOR, window=truth),
        lambda: ht.policies.d_ucb(0.0, 1.0, 0.9, xi=truth),
        lambda: ht.policies.exp3(truth, 2.0, horizon=9),
        lambda: ht.Box(0.0, truth),
        lambda: ht.Finite([[truth, 0.5], [0.0, 1.5]]),
        lambda: contextual.ask(context=[0.5, truth]),
        lambda: ht.Optimizer(ht.grid(3), ht.uniform()).begin(truth),
        lambda: ht.Optimizer(ht.grid(3), ht.uniform()).tell_many([1, 2], [0, 1], [truth, truth]),
    ]
    for call in calls:
        with refusal(InputError):
            call()


def test_a_seed_that_no_generator_takes() -> None:
    with refusal(InputError):
        ht.Optimizer(ht.grid(5), ht.uniform(), seed=2**63)


@given(
    lower=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=3),
    drop=st.floats(0.0, 10.0),
    data=st.data(),
)
@fixed(30)
def test_a_box_with_a_side_of_no_length(
    lower: list[float], drop: float, data: st.DataObject
) -> None:
    upper = [x + 1.0 for x in lower]
    i = data.draw(st.integers(0, len(lower) - 1))
    upper[i] = lower[i] - drop
    with refusal(InputError):
        ht.Box(np.array(lower), np.array(upper))


@pytest.mark.parametrize(
    ("lower", "upper"),
    [([0.0], [1.0, 1.0]), ([], []), ([[0.0]], [[1.0]]), ([NAN], [1.0]), ([0.0], [INF])],
)
def test_a_box_without_two_corners(lower: Any, upper: Any) -> None:
    with refusal(InputError):
        ht.Box(lower, upper)
