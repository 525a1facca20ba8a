"""Xopt: the gest-api generator follows an optimum that drifts."""

from __future__ import annotations

from itertools import count

import numpy as np
from xopt import VOCS, Evaluator, Xopt
from xopt.stopping_conditions import MaxEvaluationsCondition

from heliotrope.integrations.gest_api import HeliotropeGenerator


def main(evaluations: int = 80) -> float:
    steps = count()

    def measure(point: dict[str, float]) -> dict[str, float]:
        best = 0.5 + 0.3 * np.sin(next(steps) / 20.0)
        return {"f": -((point["x"] - best) ** 2)}

    vocs = VOCS(variables={"x": [0.0, 1.0]}, objectives={"f": "MAXIMIZE"})
    xopt = Xopt(
        generator=HeliotropeGenerator(vocs, seed=0),
        evaluator=Evaluator(function=measure),
        stopping_condition=MaxEvaluationsCondition(max_evaluations=evaluations),
    )
    xopt.run()
    return float(xopt.data["f"].iloc[evaluations // 2 :].mean())


if __name__ == "__main__":
    print(f"average value in the second half: {main():.3f}")
