"""Pictures by one call: each shows the numbers of its source, and returns its axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht
from heliotrope.errors import InputError, NoBeliefError
from heliotrope.terms import Drifts, Stays
from heliotrope.validation import Array

WIDE = ht.SearchSpace(
    {"x": ht.Real(0, 1), "rate": ht.Real(1e-3, 1, log=True), "mode": ht.Categorical(["a", "b"])}
)
FLAT = ht.SearchSpace({"x": ht.Real(0, 1), "n": ht.Integer(1, 9)})


def hill(params: dict[str, Any]) -> float:
    return float(-10.0 * (params["x"] - 0.6) ** 2 + (0.1 if params.get("mode") == "b" else 0.0))


def optimizer(space: Any, measure: Any, n: int = 12) -> ht.Optimizer:
    opt = ht.Optimizer(space, ht.auto(space), seed=0)
    for _ in range(n):
        s = opt.ask()
        opt.tell(s, measure(s))
    return opt


def heights(line: Any) -> Array:
    return np.asarray(line.get_ydata(), dtype=float)


@pytest.fixture(autouse=True)
def drawn() -> Iterator[None]:
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def study() -> ht.Study:
    made = ht.Study.create("s", WIDE, store="memory:")
    made.optimize(hill, 15)
    return made


def test_the_belief_of_a_study_is_a_slice_of_the_named_parameter(study: ht.Study) -> None:
    axes = ht.plot.belief(study, parameter="rate")
    assert (axes.get_xlabel(), axes.get_xscale()) == ("rate", "log")
    slices = {one["parameter"]: one for one in study.belief()["slices"]}
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), slices["rate"]["mean"])
    assert ht.plot.belief(study).get_xlabel() == "x"
    labels = [
        label.get_text() for label in ht.plot.belief(study, parameter="mode").get_xticklabels()
    ]
    assert labels == ["a", "b"]
    with pytest.raises(InputError, match="a parameter among x, rate, mode"):
        ht.plot.belief(study, parameter="y")


def test_it_draws_on_given_axes(study: ht.Study) -> None:
    _, axes = pyplot.subplots()
    for draw in (ht.plot.belief, ht.plot.track, ht.plot.importance):
        assert draw(study, ax=axes) is axes


def test_the_belief_of_options_shortens_their_names() -> None:
    options = ht.Options([f"a very long name of an option, number {i}" for i in range(3)])
    axes = ht.plot.belief(optimizer(options, lambda s: float(s.index)))
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[-1] == "a very long…n, number 2"
    study = ht.Study.create("o", ["a", "b"], store="memory:")
    study.optimize(lambda name: float(name == "b"), 6)
    assert [one.get_text() for one in ht.plot.belief(study).get_yticklabels()] == ["a", "b"]
    with pytest.raises(InputError, match="a space of parameters"):
        ht.plot.importance(study)


@pytest.mark.parametrize(
    ("space", "measure", "names"),
    [
        (FLAT, lambda s: hill(s.params), ("x", "n")),
        (ht.Box([0, 0], [1, 2]), lambda s: -float(s.x[0]), ("x0", "x1")),
        (ht.grid(5, 6), lambda s: -float(s.x[0]), ("x0", "x1")),
    ],
    ids=["space", "box", "grid"],
)
def test_two_numbers_are_a_map(space: Any, measure: Any, names: tuple[str, str]) -> None:
    opt = optimizer(space, measure)
    axes = ht.plot.belief(opt)
    assert (axes.get_xlabel(), axes.get_ylabel()) == names
    colours = axes.collections[0].get_array()
    assert colours is not None
    assert colours.min() < colours.max()
    best = opt.best()
    shown = axes.lines[0].get_xydata()
    wanted = list(best.params.values()) if best.params else best.x
    np.testing.assert_allclose(np.asarray(shown, dtype=float), np.array([wanted], dtype=float))


def test_a_study_of_two_numbers_is_a_map() -> None:
    study = ht.Study.create("m", FLAT, store="memory:")
    study.optimize(hill, 8)
    axes = ht.plot.belief(study)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "n")
    axes.figure.canvas.draw()
    legend = axes.get_legend()
    assert legend is not None
    assert legend.get_window_extent().y0 >= axes.bbox.y1 - 1.0  # its star is not one of the map
    assert ht.plot.importance(study).get_yticklabels()[-1].get_text() == "x"


def test_one_coordinate_is_a_curve() -> None:
    opt = optimizer(ht.grid(9), lambda s: float(s.x[0]))
    axes = ht.plot.belief(opt)
    np.testing.assert_allclose(heights(axes.lines[0]), opt.belief().mean)


def test_the_parameters_that_matter_come_first(study: ht.Study) -> None:
    axes = ht.plot.importance(study)
    assert axes.get_yticklabels()[-1].get_text() == "x"
    widths = [bar.get_width() for bar in axes.patches]  # type: ignore[attr-defined]
    assert sum(widths) == pytest.approx(1.0)


def test_the_track_has_all_results(study: ht.Study) -> None:
    values = study.to_frame()["value"]
    results = ht.plot.track(study).lines[-1]
    np.testing.assert_array_equal(results.get_ydata(), values)
    opt = optimizer(ht.grid(3), lambda s: float(s.x[0]))
    np.testing.assert_array_equal(ht.plot.track(opt).lines[0].get_ydata(), opt.history.y)


def test_regret_is_the_average_so_far() -> None:
    axes = ht.plot.regret({"one": [1.0, 0.0, 0.5], "many": [[1.0, 1.0], [3.0, 1.0]]})
    np.testing.assert_allclose(heights(axes.lines[0]), np.array([1.0, 0.5, 0.5]))
    np.testing.assert_allclose(heights(axes.lines[1]), np.array([2.0, 1.5]))
    assert len(axes.collections) == 1  # a band, of several trials alone
    with pytest.raises(InputError, match="regrets by name"):
        ht.plot.regret(3)  # type: ignore[arg-type]
    for wrong in ({}, {"a": "x"}, {"a": 1.0}, {"a": [[[0.1]]]}):
        with pytest.raises(InputError):
            ht.plot.regret(wrong)
    with pytest.raises(InputError, match="a study or an optimizer"):
        ht.plot.track(3)  # type: ignore[arg-type]


def test_parts_are_the_shares_of_the_prior() -> None:
    prior = ht.Prior(noise=0.1, terms=[Stays(RBF(0.3)), Drifts(RBF(0.2), epsilon=0.02)])
    opt = ht.Optimizer(ht.grid(5), ht.tv_gp_ucb(prior))
    axes = ht.plot.parts(opt)
    shares = opt.shares()
    widths = [bar.get_width() for bar in axes.patches]  # type: ignore[attr-defined]
    assert widths == sorted(shares.values())
    assert ht.plot.parts({"drift": 0.7, "noise": 0.3}).get_yticklabels()[1].get_text() == "drift"


def test_parts_are_those_of_the_learned_world(study: ht.Study) -> None:
    opt = optimizer(WIDE, lambda s: hill(s.params))
    shares = opt.shares()
    assert set(shares) == {"stays", "drifts", "level", "noise"}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares == opt.model().world.shares()
    names = [label.get_text() for label in ht.plot.parts(study).get_yticklabels()]
    assert sorted(names) == sorted(shares)
    empty = ht.Study.create("empty", WIDE, store="memory:")
    with pytest.raises(NoBeliefError, match="Tell a result first"):
        ht.plot.parts(empty)


LIMITED: dict[str, Any] = {
    "metrics": {"rate": "maximize", "p99": "watch"},
    "limits": {"p99": {"above": 0.0, "below": 200.0}},
    "store": "memory:",
}


def limited(space: Any, safe: Any) -> ht.Study:
    def measure(chosen: Any) -> dict[str, float]:
        size = {"a": 2, "b": 12, "c": 30}[chosen] if isinstance(chosen, str) else chosen["n"]
        return {"rate": 10.0 * size, "p99": 60.0 + 10.0 * size}

    made = ht.Study.create("limited", space, safe=[safe], **LIMITED)
    made.optimize(measure, 12)
    made.add("c" if isinstance(safe, str) else {**safe, "n": 24}, measure("c"))
    return made


def spans(axes: Any) -> list[tuple[float, float]]:
    return [(one.get_x(), one.get_x() + one.get_width()) for one in axes.patches]


def test_limits_of_one_parameter_are_lines_and_what_is_unsafe_is_shaded() -> None:
    made = limited({"n": ht.Integer(1, 24)}, {"n": 3})
    axes = ht.plot.limits(made)
    shown = made.belief(metric="p99")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("n", "p99")
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), shown["mean"])
    lines = [heights(line)[0] for line in axes.lines if line.get_label() == "limit"]
    assert lines == [0.0, 200.0]
    shaded = [any(low <= n <= high for low, high in spans(axes)) for n in shown["values"]]
    assert shaded == [not safe for safe in shown["safe"]]
    assert shaded[-1]
    assert not shaded[2]


def test_limits_of_options_and_of_maps() -> None:
    options = limited(["a", "b", "c"], "a")
    axes = ht.plot.limits(options, "p99")
    assert {line.get_label() for line in axes.lines} >= {"limit", "not known to keep all limits"}
    flat = limited({"n": ht.Integer(1, 24), "m": ht.Real(0, 1)}, {"n": 3, "m": 0.5})
    veil: Array = np.ma.asarray(ht.plot.limits(flat).collections[1].get_array(), dtype=float)
    kept = np.array(flat.belief(metric="p99")["safe"])
    np.testing.assert_array_equal(np.ma.getmaskarray(np.ma.masked_invalid(veil)), kept)
    cut = ht.plot.limits(flat, parameter="n")
    assert cut.get_xlabel() == "n"
    assert spans(cut)


def test_limits_need_limits(study: ht.Study) -> None:
    with pytest.raises(InputError, match="a study with limits"):
        ht.plot.limits(study)
    with pytest.raises(InputError, match="a study with limits"):
        ht.plot.limits(optimizer(FLAT, lambda _: 1.0, 2))  # type: ignore[arg-type]
    made = limited({"n": ht.Integer(1, 24)}, {"n": 3})
    with pytest.raises(InputError, match="metric: expected a metric with a limit, of p99; got 'r"):
        ht.plot.limits(made, "rate")


def test_other_sources_are_refused(study: ht.Study) -> None:
    with pytest.raises(InputError, match="a study, an optimizer, or shares by name"):
        ht.plot.parts(3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="ax: expected matplotlib axes; got 3"):
        ht.plot.belief(study, ax=3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a study or an optimizer"):
        ht.plot.belief(3)  # type: ignore[arg-type]
