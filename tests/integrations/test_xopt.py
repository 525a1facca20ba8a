"""The gest-api generator in the projects that drive such generators: Xopt, libEnsemble, blop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gest_api.vocs import VOCS

from heliotrope.integrations.gest_api import HeliotropeGenerator

WHERE = "in the adapters' own environment: make adapters"


def problem() -> VOCS:
    return VOCS(
        variables={"x": [0.0, 1.0], "k": {1.0, 2.0, 5.0}},
        objectives={"f": "MINIMIZE"},
        constraints={"c": ["LESS_THAN", 0.5]},
        constants={"alpha": 3.0},
    )


def simulate(point: dict[str, Any]) -> dict[str, float]:
    assert point["alpha"] == 3.0
    return {"f": float((point["x"] - 0.7) ** 2 + (point["k"] - 2) ** 2), "c": float(point["x"])}


def test_xopt_runs_it() -> None:
    xopt = pytest.importorskip("xopt", reason=f"Xopt is {WHERE}")
    from xopt.stopping_conditions import MaxEvaluationsCondition

    run = xopt.Xopt(
        generator=HeliotropeGenerator(problem()),
        evaluator=xopt.Evaluator(function=simulate),
        stopping_condition=MaxEvaluationsCondition(max_evaluations=30),
    )
    run.random_evaluate(3, seed=1)  # points without an _id
    run.run()
    assert len(run.data) == 30
    ((_, params, outcomes),) = run.generator.get_best_points()
    assert params["k"] == 2.0
    assert outcomes["c"] <= 0.52
    assert outcomes["f"] == pytest.approx(0.04, abs=0.01)


def test_xopt_goes_on_after_failures_and_with_earlier_data() -> None:
    xopt = pytest.importorskip("xopt", reason=f"Xopt is {WHERE}")
    import pandas as pd

    def failing(point: dict[str, Any]) -> dict[str, float]:
        if point["x"] > 0.6:
            raise RuntimeError("the beam was lost")
        return simulate(point)

    earlier = pd.DataFrame([{"x": x, "k": 2.0, "alpha": 3.0, "f": 0.3, "c": x} for x in (0.1, 0.2)])
    run = xopt.Xopt(
        generator=HeliotropeGenerator(problem()),
        evaluator=xopt.Evaluator(function=failing),
        strict=False,
        data=earlier,
    )
    for _ in range(12):
        run.step()
    optimizer = run.generator._keyed._optimizer
    failed = int(run.data["xopt_error"].fillna(False).astype(bool).sum())
    assert failed >= 1
    assert len(optimizer.history) == 14 - failed
    assert optimizer.open == ()


def test_libensemble_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("libensemble", reason=f"libEnsemble is {WHERE}")
    from libensemble import Ensemble
    from libensemble.alloc_funcs.start_only_persistent import only_persistent_gens
    from libensemble.specs import AllocSpecs, ExitCriteria, GenSpecs, LibeSpecs, SimSpecs

    monkeypatch.chdir(tmp_path)
    vocs = VOCS(
        variables={"x": [0.0, 1.0], "y": [-1.0, 1.0]},
        objectives={"f": "MAXIMIZE"},
        constants={"alpha": 3.0},
    )
    workflow = Ensemble(
        libE_specs=LibeSpecs(
            gen_on_manager=True, nworkers=2, comms="threads", disable_log_files=True
        ),
        gen_specs=GenSpecs(generator=HeliotropeGenerator(vocs), batch_size=2, vocs=vocs),
        sim_specs=SimSpecs(simulator=hill, vocs=vocs),
        alloc_specs=AllocSpecs(alloc_f=only_persistent_gens),
        exit_criteria=ExitCriteria(sim_max=24),
    )
    history, _, _ = workflow.run()
    done = history[history["sim_ended"]]
    assert len(done) == 24
    assert len({*zip(done["x"], done["y"], strict=True)}) >= 20
    assert np.max(done["f"]) > -0.05


def hill(point: dict[str, Any]) -> dict[str, float]:
    return {"f": -float((point["x"] - 0.7) ** 2 + (point["y"] - 0.2) ** 2)}


def test_blop_drives_it() -> None:
    protocols = pytest.importorskip("blop.protocols", reason=f"blop is {WHERE}")
    from blop.plans import optimize
    from blop.protocols import OptimizationProblem
    from bluesky.run_engine import RunEngine
    from ophyd.sim import SynAxis

    generator = HeliotropeGenerator(VOCS(variables={"x": [0.0, 1.0]}, objectives={"f": "MAXIMIZE"}))
    assert isinstance(generator, protocols.Optimizer)
    assert isinstance(generator, protocols.CanRegisterSuggestions)
    assert isinstance(generator, protocols.TrialFaultAware)

    def evaluate(_: str, suggestions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{"_id": one["_id"], "f": -((one["x"] - 0.3) ** 2)} for one in suggestions]

    problem = OptimizationProblem(
        optimizer=generator,
        actuators=[SynAxis(name="x")],
        sensors=[],
        evaluation_function=evaluate,
    )
    RunEngine({}, call_returns_result=True)(optimize(problem, iterations=15, n_points=1))
    ((_, params, outcomes),) = generator.get_best_points()
    assert params["x"] == pytest.approx(0.3, abs=0.1)
    assert outcomes["f"] > -0.01
