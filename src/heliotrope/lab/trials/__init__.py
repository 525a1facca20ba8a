"""Seeded trials in one process, in several, or on a cluster, with checkpoints."""

from heliotrope.lab.trials.checkpoints import Result, fingerprint
from heliotrope.lab.trials.run import run_trials
from heliotrope.lab.trials.trial import Trial, trial_seed

__all__ = ["Result", "Trial", "fingerprint", "run_trials", "trial_seed"]
