"""Keep two gains of a controller tuned while the plant ages: a continuous box, live.

Run it: python examples/tune_a_controller.py
"""

import numpy as np
from sklearn.gaussian_process.kernels import RBF

import heliotrope as ht


def score_of_one_minute(gains: np.ndarray, minute: float, rng: np.random.Generator) -> float:
    """Stand in for the plant: the best gains wander, and every score is noisy."""
    best = np.array([2.0 + np.sin(minute / 60.0), 0.5 + 0.3 * np.cos(minute / 80.0)])
    return float(-(((gains - best) / [1.5, 0.5]) ** 2).sum() + 0.1 * rng.normal())


def main(minutes: int = 150) -> float:
    """Track the plant; return how far the tuned gains' score is below the best, on average."""
    box = ht.Box(lower=[0.0, 0.0], upper=[4.0, 1.0])
    prior = ht.Prior(
        space=4.0 * RBF([1.0, 0.3]),  # a variance of 4; scales in the units of each gain
        time=ht.Forgetting(0.01),  # about 1 % of what is known goes stale a minute
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
