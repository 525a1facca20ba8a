"""Studies: named optimizers that outlive the process.

Names are imported on first use: a client needs the commands, but no optimizer.
"""

from typing import TYPE_CHECKING

from heliotrope.lazy import lazy_names

if TYPE_CHECKING:
    from heliotrope.study.clocks import Steps as Steps, Wall as Wall
    from heliotrope.study.commands import Evaluation as Evaluation
    from heliotrope.study.config import PolicyChoice as PolicyChoice, StudyConfig as StudyConfig
    from heliotrope.study.study import Study as Study

_NAMES = {
    "clocks": ("Steps", "Wall"),
    "commands": ("Evaluation",),
    "config": ("PolicyChoice", "StudyConfig"),
    "study": ("Study",),
}
__all__ = [name for names in _NAMES.values() for name in names]

if not TYPE_CHECKING:  # otherwise a misspelled name would pass a type check
    __getattr__ = lazy_names(__name__, _NAMES)
