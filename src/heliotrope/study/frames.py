"""The evaluations of a study as a pandas table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from heliotrope.errors import requires_extra

if TYPE_CHECKING:
    import pandas as pd

_TIMES = ["asked_at", "told_at"]


def frame_of(export: str) -> pd.DataFrame:
    """Read an export as JSON into a table with the columns of an export as CSV.

    Wall times become times in UTC.
    """
    with requires_extra("lab"):
        import pandas as pd
    from heliotrope.study import StudyConfig, views  # slow to load

    data = json.loads(export)
    names, rows = views.table(StudyConfig.from_json(data["setup"]), data["results"])
    frame = pd.DataFrame(rows, columns=names)
    for name in _TIMES:
        frame[name] = pd.to_datetime(frame[name].astype(float), unit="s", utc=True)
    return frame.astype({"t": float, "value": float})
