"""The command ``heliotrope estimate``."""

import time
from contextlib import closing, suppress
from typing import Annotated

import typer

from heliotrope.cli.console import errors_as_messages
from heliotrope.storage.protocol import DEFAULT_STORE


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
        from heliotrope.study.watching import Watcher

        with (
            closing(open_store(store, make=False)) as opened,
            closing(Estimators(processes)) as estimators,
        ):
            watcher = Watcher(opened, estimators)
            while True:
                watcher.look()
                time.sleep(pause)
