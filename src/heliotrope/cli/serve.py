"""The command ``heliotrope serve``."""

from pathlib import Path
from typing import Annotated

import typer

from heliotrope.cli.backends import is_service
from heliotrope.cli.console import errors_as_messages
from heliotrope.client import read_tokens
from heliotrope.errors import InputError, requires_extra
from heliotrope.storage.protocol import DEFAULT_STORE


def serve_command(
    store: Annotated[
        str,
        typer.Option(
            envvar="HELIOTROPE_STORE",
            help="URL of the store: sqlite:///file.db or postgresql://...",
        ),
    ] = DEFAULT_STORE,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free port.")] = 8765,
    token_file: Annotated[
        Path | None, typer.Option(dir_okay=False, help="File of client tokens, one per line.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Number of worker processes.")] = 1,
    estimators: Annotated[
        int,
        typer.Option(
            min=0,
            max=64,
            help="Processes of each worker that estimate models, so that no request waits for "
            "them. 0: `heliotrope estimate` does, here or on another machine.",
        ),
    ] = 1,
    estimate_in_requests: Annotated[
        bool,
        typer.Option(
            "--estimate-in-requests",
            help="Let requests wait for estimates: suggestions are those of a study in Python.",
        ),
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A further host name of the service. May be repeated.")
    ] = None,
    demo: Annotated[bool, typer.Option(help="Whether clients may start demo studies.")] = True,
) -> None:
    """Serve the studies of a store over HTTP, for clients and browsers."""
    with errors_as_messages():
        if is_service(store):  # HELIOTROPE_STORE may hold it for ``heliotrope study``
            advice = "Pass --store, or change HELIOTROPE_STORE."
            raise InputError("a store to serve", f"{store}, which is a service", advice)
        with requires_extra("service"):  # slow to load
            from heliotrope.service import Settings, running
        tokens = () if token_file is None else read_tokens(token_file)
        hosts = running.checked_hosts(host, allow_host or [], tokens)
        beside = None if estimate_in_requests else estimators
        settings = Settings(store, tokens, hosts, demo, beside)
        running.run_service(settings, host, port, workers=workers, token_file=token_file)
