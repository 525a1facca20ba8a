"""The commands ``heliotrope study ...``.

Each prints one line of JSON for scripts. On a terminal, ``list`` and ``show`` print tables.
"""

from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import typer

from heliotrope.cli.backends import default_backend, open_backend
from heliotrope.cli.console import AsJson, LazyCommands, errors_as_messages, progress
from heliotrope.cli.printing import print_out, studies_table, summary_table
from heliotrope.cli.values import as_numbers, read_goals, read_names, read_values
from heliotrope.errors import HeliotropeError, StudyExistsError
from heliotrope.storage.protocol import DEFAULT_STORE

_Function = TypeVar("_Function", bound=Callable[..., None])


def _json_option(meaning: str) -> Any:
    """An option of values by name, which :func:`read_values` reads."""
    help = f"{meaning}: JSON, a JSON file, or NAME=VALUE,..."
    return typer.Option(metavar="VALUES", help=help)


def _parameters_option(meaning: str) -> Any:
    """An option of typed parameters, which :func:`read_values` reads."""
    example = '{"x": {"type": "real", "low": 0, "high": 1}}'
    return typer.Option(metavar="JSON", help=f"{meaning} by name: JSON or a file, as {example}.")


def _check_numbers(given: Any) -> Any:
    """Return what :func:`as_numbers` can read; BadParameter. Typer would change its result."""
    as_numbers(given)
    return given


def _study_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The names of studies that complete a word in the shell."""
    try:
        with open_backend(str(ctx.params.get("at") or default_backend()), None) as studies:
            return [info.name for info in studies.studies() if info.name.startswith(incomplete)]
    except (HeliotropeError, OSError):
        return []


Name = Annotated[str, typer.Argument(help="Name of the study.", autocompletion=_study_names)]
Id = Annotated[str, typer.Argument(help="Id of the evaluation, as printed by ask.")]
MeasuredValues = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[VALUE|METRIC=VALUE...]",
        help="Measured value, or the values of several metrics.",
        show_default=False,
        callback=_check_numbers,
    ),
]
Std = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER|METRIC=NUMBER,...",
        help="Standard error of the value, or those by metric.",
        callback=_check_numbers,
    ),
]
Repeats = Annotated[
    int | None, typer.Option("--n", help="Number of repeats that the value averages.")
]
Successes = Annotated[
    int | None, typer.Option(help="Number of successes in --trials, instead of a value.")
]
Trials = Annotated[int | None, typer.Option(help="Number of trials.")]
Count = Annotated[
    int | None, typer.Option(help="Number of events in --exposure, instead of a value.")
]
Exposure = Annotated[float | None, typer.Option(help="Time or amount observed for --count.")]
At = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="HELIOTROPE_STORE",
        help="URL of a store (sqlite:, postgresql:) or of a service (http:, https:).",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="Token file of the service. Default: $HELIOTROPE_TOKEN.",
    ),
]
AlwaysJson = Annotated[
    bool, typer.Option("--json", help="Print JSON, as this command always does.")
]
Lease = Annotated[
    str | None,
    typer.Option(help="Time until an ask expires without a result or heartbeat, such as 10min."),
]
InContext = Annotated[str | None, _json_option("Context values by name")]


class ExportKind(StrEnum):
    """File formats of an export."""

    csv = "csv"
    json = "json"


class _StudyCommands(LazyCommands):
    apps: ClassVar[dict[str, Callable[[], typer.Typer]]] = {}


study_app = typer.Typer(
    name="study", cls=_StudyCommands, no_args_is_help=True, add_completion=False
)


@study_app.callback()
def study() -> None:
    """Use studies in a store or at a service."""


def _command(name: str, **settings: Any) -> Callable[[_Function], _Function]:
    """Add a function to the commands, as a separate application."""

    def add(function: _Function) -> _Function:
        only = typer.Typer(add_completion=False)
        only.command(name, **settings)(function)
        _StudyCommands.apps[name] = lambda: only
        return function

    return add


@_command("create")
def create_command(
    name: Name,
    space: Annotated[str | None, _parameters_option("Parameters")] = None,
    options: Annotated[
        str | None, typer.Option(help="Names separated by commas, or a JSON list.")
    ] = None,
    context: Annotated[str | None, _parameters_option("Parameters given at every ask")] = None,
    policy: Annotated[str | None, _json_option("Kind and parameters")] = None,
    minimize: Annotated[
        bool, typer.Option("--minimize/--maximize", help="Whether low or high values are good.")
    ] = False,
    clock: Annotated[
        str | None, typer.Option(help="Unit of time, such as 10min. Default: a counter of asks.")
    ] = None,
    lease: Lease = None,
    like: Annotated[
        list[str] | None,
        typer.Option(help="A similar study, whose knowledge it starts from. May be repeated."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed. Default: 0.")] = None,
    metrics: Annotated[
        str | None, _json_option("Metrics by name, each maximize, minimize or watch")
    ] = None,
    objective: Annotated[str | None, _json_option("Weights by metric of a sum to maximize")] = None,
    limits: Annotated[
        str | None,
        typer.Option(
            metavar="LIMITS",
            help="Limits such as p99<200,throughput>95%, or JSON; a percentage is of the baseline.",
        ),
    ] = None,
    risk: Annotated[
        float | None, typer.Option(help="Probability of crossing any limit. Default: 0.05.")
    ] = None,
    baseline: Annotated[
        str | None, _json_option("What runs today, or the name of an option")
    ] = None,
    share: Annotated[
        float | None, typer.Option(help="Share of asks that measure the baseline. Default: 0.1.")
    ] = None,
    safe: Annotated[
        list[str] | None,
        _json_option("Another choice that keeps all limits, or the name of an option"),
    ] = None,
    largest: Annotated[
        str | None, _json_option("Largest step between two settings, by parameter")
    ] = None,
    move_cost: Annotated[str | None, _json_option("Cost of moving a parameter by one unit")] = None,
    exist_ok: Annotated[
        bool, typer.Option("--exist-ok", help="Continue an existing study of the same description.")
    ] = False,
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Create a study with parameters (--space) or named options (--options)."""
    form: dict[str, Any] = {"direction": "minimize" if minimize else "maximize"}
    with errors_as_messages(), open_backend(at, token_file) as studies:
        for key, text in {"space": space, "context": context, "policy": policy}.items():
            if text is not None:
                form[key] = read_values(text, f"--{key}")
        if options is not None:
            form["options"] = read_names(options)
        if clock is not None:
            form["clock"] = {"kind": "wall", "unit": clock}
        given = {"lease": lease, "seed": seed, "like": like, "risk": risk, "share": share}
        form |= {key: value for key, value in given.items() if value is not None}
        form |= read_goals(
            metrics=metrics,
            objective=objective,
            limits=limits,
            baseline=baseline,
            safe=safe,
            largest=largest,
            cost=move_cost,
        )
        done = "created"
        try:
            studies.create_from(name, form)
        except StudyExistsError:
            if not exist_ok:
                raise
            studies.create_from(name, form, exist_ok=True)
            done = "continued"
    print_out({done: name})


@_command("ask")
def ask_command(
    name: Name,
    t: Annotated[float | None, typer.Option(help="Time of the evaluation. Default: now.")] = None,
    context: InContext = None,
    key: Annotated[
        str | None, typer.Option(help="The same key returns the same open evaluation.")
    ] = None,
    lease: Lease = None,
    cost: Annotated[
        float | None,
        typer.Option(help="Cost of a measurement. The answer may be {hold_until}: ask then."),
    ] = None,
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Suggest what to measure: {"id", "t", "params"} or {"id", "t", "option"}."""
    _do("Ask", name, at, token_file, t=t, context=context, key=key, lease=lease, cost=cost)


@_command("tell", context_settings={"ignore_unknown_options": True})  # such as -1.5
def tell_command(
    name: Name,
    id: Id,
    value: MeasuredValues = None,
    std: Std = None,
    n: Repeats = None,
    successes: Successes = None,
    trials: Trials = None,
    count: Count = None,
    exposure: Exposure = None,
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Record a result. The same result can be told again; a different one is an error."""
    noise = {"n": n, "successes": successes, "trials": trials}
    counted = {"count": count, "exposure": exposure}
    _do("Tell", name, at, token_file, id=id, value=value, std=std, **noise, **counted)


@_command("add", context_settings={"ignore_unknown_options": True})  # as for tell
def add_command(
    name: Name,
    value: MeasuredValues = None,
    params: Annotated[str | None, _json_option("Parameters by name")] = None,
    option: Annotated[str | None, typer.Option(help="Name of the option.")] = None,
    t: Annotated[float | None, typer.Option(help="Time of the evaluation. Default: now.")] = None,
    context: InContext = None,
    key: Annotated[
        str | None, typer.Option(help="The same result with the same key is recorded once.")
    ] = None,
    std: Std = None,
    n: Repeats = None,
    successes: Successes = None,
    trials: Trials = None,
    count: Count = None,
    exposure: Exposure = None,
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Record a result measured elsewhere, at --params or an --option."""
    fields = {"params": params, "option": option, "t": t, "context": context, "key": key}
    noise = {"n": n, "successes": successes, "trials": trials}
    counted = {"count": count, "exposure": exposure}
    _do("Add", name, at, token_file, value=value, std=std, **fields, **noise, **counted)


@_command("applied")
def applied_command(
    name: Name,
    params: Annotated[str | None, _json_option("Parameters by name")] = None,
    option: Annotated[str | None, typer.Option(help="Name of the option.")] = None,
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Say what the system runs with now: moves are measured from there."""
    _do("Applied", name, at, token_file, params=params, option=option)


@_command("front")
def front_command(
    name: Name,
    context: InContext = None,
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Show the best trade-offs between several objectives."""
    with errors_as_messages(), open_backend(at, token_file) as studies:
        given = None if context is None else read_values(context, "--context")
        front = studies.open(name).front(context=given)
    print_out(front)


@_command("import")
def import_command(
    name: Name,
    table: Annotated[Path, typer.Argument(dir_okay=False, help="A CSV file.")],
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Add the new results of a table. Its columns are those of an export."""
    with errors_as_messages(), open_backend(at, token_file) as studies:
        from heliotrope.study.tables import add_results, new_results, read_results, setup_of

        study = studies.open(name)
        log = study.events()
        setup = setup_of(log)
        results = read_results(table, setup)
        new = new_results(results, log)
        with progress(counted=True) as bars:
            for _ in bars.track(add_results(new, study, setup), len(new), description="results"):
                pass
    print_out({"added": len(new), "known": len(results) - len(new)})


@_command("cancel")
def cancel_command(
    name: Name,
    id: Id,
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Cancel an evaluation whose measurement failed."""
    _do("Cancel", name, at, token_file, id=id)


@_command("heartbeat")
def heartbeat_command(
    name: Name,
    id: Id,
    lease: Lease = None,
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Prolong the lease of an open evaluation."""
    _do("Heartbeat", name, at, token_file, id=id, lease=lease)


@_command("retime")
def retime_command(
    name: Name,
    t: Annotated[
        float | None, typer.Option(help="The latest time that stays. Default: now.")
    ] = None,
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Move later times back to the present, after a clock was ahead."""
    _do("Retime", name, at, token_file, t=t)


@_command("show")
def show_command(
    name: Name,
    context: InContext = None,
    as_json: AsJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Show the current best, the drift, and the open evaluations."""
    with errors_as_messages(), open_backend(at, token_file) as studies:
        given = None if context is None else read_values(context, "--context")
        summary = studies.open(name).summary(context=given)
    print_out(summary, None if as_json else summary_table(summary))


@_command("list")
def list_command(
    as_json: AsJson = False, at: At = DEFAULT_STORE, token_file: TokenFile = None
) -> None:
    """List all studies."""
    with errors_as_messages(), open_backend(at, token_file) as studies:
        found = studies.studies()
    print_out([asdict(info) for info in found], None if as_json else studies_table(found))


@_command("export")
def export_command(
    name: Name,
    kind: Annotated[ExportKind, typer.Option(help="File format.")] = ExportKind.csv,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Output file. Default: print.")
    ] = None,
    as_json: AsJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Export all evaluations and results."""
    with errors_as_messages():
        with open_backend(at, token_file) as studies:
            text = studies.open(name).export("json" if as_json else kind.value)
        if out is not None:
            out.write_text(text, encoding="utf-8", newline="")
    typer.echo(text if out is None else f"Wrote {out}\n", nl=False)


@_command("delete")
def delete_command(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    _as_json: AlwaysJson = False,
    at: At = DEFAULT_STORE,
    token_file: TokenFile = None,
) -> None:
    """Delete a study with all its events."""
    with errors_as_messages(), open_backend(at, token_file) as studies:
        study = studies.open(name)
        if not yes:
            typer.confirm(f"Delete {name} with all its events?", abort=True, err=True)
        study.delete()
    print_out({"deleted": name})


def _do(kind: str, name: str, at: str, token_file: Path | None, **fields: Any) -> None:
    """Carry out a command with these fields; print the service's answer to it."""
    from heliotrope.study import commands  # not needed to list studies

    with errors_as_messages(), open_backend(at, token_file) as studies:
        for key in ("params", "context"):
            if fields.get(key) is not None:
                fields[key] = read_values(fields[key], f"--{key}")
        for key in ("value", "std"):
            if key in fields:
                fields[key] = as_numbers(fields[key])
        command = getattr(commands, kind).from_json(fields)
        answer = command.answer(studies.open(name).do(command))
    print_out(answer)
