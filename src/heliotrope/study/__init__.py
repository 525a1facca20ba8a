"""Studies: named optimizers that outlive the process."""

from heliotrope.study.clocks import Steps, Wall
from heliotrope.study.events import Ask
from heliotrope.study.policies import PolicyChoice
from heliotrope.study.replica import Decision
from heliotrope.study.setups import Setup
from heliotrope.study.study import Study

__all__ = ["Ask", "Decision", "PolicyChoice", "Setup", "Steps", "Study", "Wall"]
