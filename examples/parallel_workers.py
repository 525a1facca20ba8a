"""Several workers, late and out-of-order results, failures, and a restart from disk.

Run it: python examples/parallel_workers.py
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.gaussian_process.kernels import Matern

import heliotrope as ht


def main() -> float:
    """Keep four evaluations open; return the average number of distinct points per round."""
    prior = ht.Prior(Matern(0.2, nu=2.5), ht.Forgetting(0.005), noise=0.01)
    optimizer = ht.Optimizer(ht.grid(30, 30), ht.tv_gp_ucb(prior), seed=3)
    rng = np.random.default_rng(0)
    different = []
    for _ in range(25):
        round_of_four = [optimizer.ask() for _ in range(4)]
        different.append(len({s.index for s in round_of_four}))
        for worker in rng.permutation(4):
            s = round_of_four[worker]
            if rng.random() < 0.1:
                optimizer.cancel(s)  # this worker's evaluation failed
            else:
                optimizer.tell(s, float(np.sin(5.0 * s.x).sum() + 0.1 * rng.normal()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.heliotrope"
        optimizer.save(path)
        again = ht.Optimizer.load(path)
    best, same = again.best(), again.ask().index == optimizer.ask().index
    print(f"{len(again.history)} results; best now {best.x.round(2)}: {best.mean:.2f}")
    print(f"the restarted optimizer asks for the same point: {same}")
    return float(np.mean(different))


if __name__ == "__main__":
    main()
