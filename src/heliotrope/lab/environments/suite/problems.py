"""The problems of the suite, by id."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from heliotrope.errors import InputError
from heliotrope.lab.environments.suite.drawn import (
    box_problems,
    function_problems,
    gp_problems,
    measurement_problems,
)
from heliotrope.lab.environments.suite.log_windows import LogWindows
from heliotrope.lab.environments.suite.problem import Problem
from heliotrope.lab.environments.suite.relays import Relays

_TABLES = {  # file, file of locations, prefix of the places' names
    "intel": ("intel_temperature", "intel_locations", ""),
    "i405": ("traffic_speed", "traffic_locations", ""),
    "i5": ("traffic_i5_3days", "traffic_i5_locations", "S"),
    "metrla": ("traffic_metrla_week", "traffic_metrla_locations", ""),
    "pemsbay": ("traffic_pemsbay16", "traffic_pemsbay16_locations", ""),
}
_ROUND_TRIPS = ("relay_rtt.npz",)


def problem(id: str) -> Problem:
    """Return the problem with an id, such as "paper/se/0.01".

    Examples
    --------
    >>> world = problem("paper/se/0.01").world()
    >>> world.noise, len(world.domain), world.episode(horizon=30, seed=0).horizon
    (0.01, 400, 30)
    """
    if id not in SUITE:
        raise InputError("the id of a problem", repr(id), f"The ids are {', '.join(SUITE)}.")
    return SUITE[id]


def select_problems(wanted: str | None = None, *, measured: bool = True) -> tuple[str, ...]:
    """Return the ids in a comma-separated list of ids and first parts of ids.

    Without a list it returns all ids; ``measured=False`` omits those that need measured tables.

    Examples
    --------
    >>> select_problems("jumps, peaks/steady")
    ('jumps/still', 'jumps/drift', 'peaks/steady')
    """
    if wanted is None:
        return tuple(id for id, one in SUITE.items() if measured or not one.measured)
    parts = (part.strip() for part in wanted.split(","))
    ids = (
        id
        for part in parts
        for id in [id for id in SUITE if id.startswith(f"{part}/")] or [problem(part).id]
    )
    return tuple(dict.fromkeys(ids))


def playable_problems(
    wanted: str | None, data: Path | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the selected ids, and for each problem that was skipped a line with the reason.

    Without a list, problems are skipped whose files are not in the folder ``data``; without a
    folder, all that need measured tables are omitted. A listed problem is never skipped.
    """
    ids = select_problems(wanted, measured=data is not None)
    if wanted is not None or data is None or not data.is_dir():
        return ids, ()
    missing = {id: files for id in ids if (files := problem(id).missing(data))}
    reasons = [f"Skipped {id}: {data} has no {', '.join(files)}." for id, files in missing.items()]
    return tuple(id for id in ids if id not in missing), tuple(reasons)


def _tables() -> list[Problem]:
    return [
        Problem(
            f"table/{name}",
            f"Windows of {log}.",
            partial(LogWindows, prefix=prefix),
            (f"{log}.csv.gz", f"{locations}.csv"),
        )
        for name, (log, locations, prefix) in _TABLES.items()
    ]


def _relays() -> list[Problem]:
    about = "The fastest of 97 relays between two machines,"
    return [
        Problem(
            "relays/design",
            f"{about} neither of them one of 0 to 19.",
            partial(Relays, final=False),
            _ROUND_TRIPS,
        ),
        Problem(
            "relays/final",
            f"{about} at least one of them of 0 to 19.",
            partial(Relays, final=True),
            _ROUND_TRIPS,
        ),
    ]


SUITE: Mapping[str, Problem] = {
    one.id: one
    for one in [
        *gp_problems(),
        *function_problems(),
        *_tables(),
        *_relays(),
        *measurement_problems(),
        *box_problems(),
    ]
}
"""Every problem by its id."""
