"""The command ``heliotrope estimate``: it watches the studies of a store."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from heliotrope.cli.console import errors_as_messages
from heliotrope.storage.protocol import DEFAULT_STORE

if TYPE_CHECKING:
    from heliotrope.storage import Store
    from heliotrope.study import Study
    from heliotrope.study.estimators import Estimators

_PAGE = 1_000  # studies listed at a time
_HELD = 200  # studies in memory


def estimate_command(
    store: Annotated[
        str,
        typer.Option(envvar="HELIOTROPE_STORE", help="URL of the store, which a service shares."),
    ] = DEFAULT_STORE,
    processes: Annotated[int, typer.Option(min=1, max=64, help="Number of processes.")] = 1,
    pause: Annotated[float, typer.Option(min=0.01, help="Seconds between two looks.")] = 0.5,
) -> None:
    """Estimate the models of a store's studies, for services on this or another machine.

    Start such a service with --estimators 0.
    """
    with errors_as_messages(), suppress(KeyboardInterrupt):
        from heliotrope.storage import open_store  # slow to load
        from heliotrope.study.estimators import Estimators

        with (
            closing(open_store(store, make=False)) as opened,
            closing(Estimators(processes)) as estimators,
        ):
            watcher = Watcher(opened, estimators)
            while True:
                watcher.look()
                time.sleep(pause)


class Watcher:
    """Looks for studies with new events, and begins the estimates that are due in them."""

    def __init__(self, store: Store, estimators: Estimators) -> None:
        self._store, self._estimators = store, estimators
        self._seen: dict[str, int] = {}  # number of events of each study
        self._held: dict[str, Study] = {}  # the one of the latest events last

    def look(self) -> None:
        """Look at all studies with events that were not seen before."""
        after = ""
        while page := self._store.studies(after, _PAGE):
            for info in page:
                if self._seen.get(info.uid) != info.events:
                    self._seen[info.uid] = info.events
                    self._held_study(info.uid, info.name).consider()
            after = page[-1].name

    def _held_study(self, uid: str, name: str) -> Study:
        from heliotrope.study import Study  # slow to load

        study = self._held.pop(uid, None)
        if study is None:
            study = Study(self._store, name, estimators=self._estimators)
        self._held[uid] = study
        if len(self._held) > _HELD:
            del self._held[next(iter(self._held))]
        return study
