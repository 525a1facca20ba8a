"""Studies: named optimizers that outlive the process.

Names are imported when they are first used: a client needs the commands, and no optimizer.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heliotrope.study.clocks import Steps as Steps, Wall as Wall
    from heliotrope.study.commands import Evaluation as Evaluation
    from heliotrope.study.config import StudyConfig as StudyConfig
    from heliotrope.study.policies import PolicyChoice as PolicyChoice
    from heliotrope.study.study import Study as Study

_HOME = {
    "Evaluation": "commands",
    "PolicyChoice": "policies",
    "StudyConfig": "config",
    "Steps": "clocks",
    "Study": "study",
    "Wall": "clocks",
}
__all__ = list(_HOME)


if not TYPE_CHECKING:  # or a misspelled name would pass a type check

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"module 'heliotrope.study' has no attribute {name!r}")
        return getattr(import_module(f"heliotrope.study.{_HOME[name]}"), name)
