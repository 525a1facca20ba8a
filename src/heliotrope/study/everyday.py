"""The everyday calls of a study, here or at a service."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heliotrope.errors import HeliotropeError, NoBeliefError
from heliotrope.notebook import facts_table
from heliotrope.study.results import BeliefReport, BestChoice, Front, Summary, Track
from heliotrope.study.verbs import StudyVerbs
from heliotrope.surroundings import REAL, Surroundings

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from heliotrope.storage import Event
    from heliotrope.study.config import StudyConfig
    from heliotrope.study.optimizing import Callback, Measured, Report
    from heliotrope.tables import DataFrame


class EverydayStudy(StudyVerbs):
    """What people do with a study, by way of its commands and its summary."""

    surroundings: Surroundings = REAL

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the study."""

    @abstractmethod
    def summary(self, *, context: Mapping[str, Any] | None = None) -> Summary:
        """The configuration, the counts, the present best and the drift in words."""

    @property
    @abstractmethod
    def config(self) -> StudyConfig:
        """The configuration that it was created with."""

    @abstractmethod
    def belief(
        self,
        t: float | None = None,
        *,
        context: Mapping[str, Any] | None = None,
        metric: str | None = None,
    ) -> BeliefReport:
        """The belief at a present, future or past time (default: now)."""

    @abstractmethod
    def front(self, t: float | None = None, *, context: Mapping[str, Any] | None = None) -> Front:
        """The best trade-offs between several objectives, now or at a later time."""

    @abstractmethod
    def track(self) -> Track:
        """The results over time with their choices, and the best over time."""

    @abstractmethod
    def export(self, kind: str = "csv") -> str:
        """All evaluations with their results, as CSV or JSON."""

    @abstractmethod
    def file(self) -> bytes:
        """The bytes that :meth:`save` writes."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the setup, the events and a snapshot to one file.

        :meth:`heliotrope.Study.load` and :meth:`heliotrope.Optimizer.load` open it.
        """
        from heliotrope.serialization.archive import write_file  # not needed to ask and tell

        write_file(path, self.file())

    @abstractmethod
    def events(self, after: int = 0, limit: int | None = None) -> list[Event]:
        """The log, or at most ``limit`` events after event number ``after``."""

    @property
    def best(self) -> BestChoice:
        """The best choice now, in the context of the latest ask; NoBeliefError without results."""
        summary = self.summary()
        if summary.best is None:
            metrics = summary.metrics or {}
            missing = [name for name, metric in metrics.items() if not metric["told"]]
            of_these = f" of {', '.join(missing)}" if missing else ""
            advice = "Tell a result first; policies without a GP have no belief."
            raise NoBeliefError("a study with a belief", f"one without results{of_these}", advice)
        return summary.best

    @property
    def best_params(self) -> Mapping[str, Any]:
        """The parameters of the best choice now; a study of options has ``best.option`` instead."""
        return self.best.params

    def optimize(
        self,
        function: Callable[..., Measured],
        n: int | None = None,
        *,
        timeout: float | None = None,
        callbacks: Sequence[Callback] | Callback = (),
        context: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
        progress: bool = True,
    ) -> Report:
        """Ask, call the function and tell its value, ``n`` times or until ``timeout`` seconds.

        The function gets the parameters as a dictionary, or the name of an option. It returns the
        value, or a dictionary of the arguments of :meth:`tell`, such as value and std. A failure,
        and a value that is no number, cancels its evaluation with a warning in the log; the run
        continues. Ctrl-C cancels the open evaluation and ends the run. The function is never
        stopped midway: after the timeout nothing new begins.

        Parameters
        ----------
        callbacks
            Functions, or one, called as ``callback(study, outcome)`` after each evaluation, with
            ``outcome.evaluation``, ``.measured`` and ``.error``. StopIteration ends the run.
        context
            In a study with contexts: the context, or a function that returns the present one. The
            function then gets the context as second argument.
        progress
            Whether to show a progress bar, on a terminal or in a notebook.
        """
        from heliotrope.study.optimizing import Run, as_callbacks

        called = as_callbacks(callbacks)
        return Run(self, function, n, timeout, called, context, progress)()

    def add_table(self, table: DataFrame | str | os.PathLike[str]) -> int:
        """Add the new results of a pandas or polars table, or of a file; return their number.

        The columns are those of an export. All rows are checked before the first one is added, and
        a row that was added before is not added again.
        """
        from heliotrope.study.tables import add_results, new_results, read_results, setup_of

        log = self.events()
        setup = setup_of(log)
        new = new_results(read_results(table, setup), log)
        return len(list(add_results(new, self, setup)))

    def to_frame(self) -> pd.DataFrame:
        """All evaluations with their results as a pandas table, with the columns of an export."""
        from heliotrope.study.exports import frame_of

        return frame_of(self.export("json"))

    def to_polars(self) -> pl.DataFrame:
        """The same as a polars table."""
        from heliotrope.study.exports import polars_frame_of

        return polars_frame_of(self.export("json"))

    def _repr_html_(self) -> str:
        try:
            return self.summary()._repr_html_()
        except HeliotropeError as error:
            return facts_table(self.name, {"error": str(error)})
