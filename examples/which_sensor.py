"""Find the highest of many correlated sensors, one reading per step, with a covariance table.

Run it: python examples/which_sensor.py
"""

import numpy as np

import heliotrope as ht


def readings(steps: int, sensors: int, rng: np.random.Generator) -> np.ndarray:
    """Simulate correlated series: a hot spot that moves along a corridor of sensors."""
    places = np.arange(sensors)
    centre = sensors / 2 + np.cumsum(rng.normal(scale=0.25, size=steps))
    hot = 3.0 * np.exp(-0.5 * ((places - centre[:, None] % sensors) / 3.0) ** 2)
    return 20.0 + hot + rng.normal(scale=0.1, size=(steps, sensors))


def main() -> float:
    """Learn mean and covariance from the first half, track the second; return relative regret."""
    rng = np.random.default_rng(1)
    table = readings(600, 24, rng)
    past, live = table[:300], table[300:]
    prior = ht.Prior(
        space=ht.Tabulated(np.cov(past.T) + 1e-6 * np.eye(24)),
        time=ht.Forgetting(0.02),
        noise=0.05,
        mean=past.mean(axis=0),
    )
    domain = ht.Finite(np.arange(24.0))
    optimizer = ht.Optimizer(domain, ht.tv_gp_ucb(prior, ht.LogBeta(0.8, 0.4)), seed=0)
    regrets = []
    for row in live:
        suggestion = optimizer.ask()
        optimizer.tell(suggestion, row[suggestion.index])
        regrets.append(row.max() - row[suggestion.index])
    random = np.mean(live.max(axis=1)[:, None] - live)
    print(f"average regret {np.mean(regrets):.2f} degrees; random choice {random:.2f}")
    return float(np.mean(regrets) / random)


if __name__ == "__main__":
    main()
