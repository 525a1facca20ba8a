"""Tune two gains of a controller while the plant ages, in a continuous box.

Run it: python examples/tune_a_controller.py
"""

import numpy as np
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht


def score_of_one_minute(gains: np.ndarray, minute: float, rng: np.random.Generator) -> float:
    """Simulate the plant: the best gains drift, and every score is noisy."""
    best = np.array([2.0 + np.sin(minute / 60.0), 0.5 + 0.3 * np.cos(minute / 80.0)])
    return float(-(((gains - best) / [1.5, 0.5]) ** 2).sum() + 0.1 * rng.normal())


def main(minutes: int = 150) -> float:
    """Track the plant; return the average loss against the best gains."""
    box = ht.Box(lower=[0.0, 0.0], upper=[4.0, 1.0])
    prior = ht.Prior(
        space=4.0 * RBF([1.0, 0.3]),  # variance 4; length scales in the units of the gains
        time=ht.Forgetting(0.01),  # about 1 % of the information becomes stale per minute
        noise=0.01,
        mean=-2.0,
    )
    optimizer = ht.Optimizer(box, ht.tv_gp_ucb(prior, beta=2.0), seed=0)
    rng = np.random.default_rng(0)
    losses = []
    for _ in range(minutes):
        suggestion = optimizer.ask()
        score = score_of_one_minute(suggestion.x, suggestion.t, rng)
        optimizer.tell(suggestion, score)
        losses.append(-score)
    best = optimizer.best()
    print(f"best gains now: {best.x.round(2)}, score {best.mean:.2f} +- {best.std:.2f}")
    print(f"average loss of the last 100 minutes: {np.mean(losses[-100:]):.3f}")
    return float(np.mean(losses[-100:]))


if __name__ == "__main__":
    main()
