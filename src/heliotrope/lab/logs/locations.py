"""Locations of the places of a log."""

import re
from collections.abc import Sequence

import numpy as np

from heliotrope.tables import Sheet, normalized_name
from heliotrope.validation import Array

_EARTH = 6371.0  # its radius in km
_AXES = (("x", "easting"), ("y", "northing"), ("z",))
_LATITUDE, _LONGITUDE = ("latitude", "lat"), ("longitude", "lon", "long", "lng")
_LINE = ("position", "milepost", "postmile", "mile", "km", "kilometre", "kilometer", "distance")
_UNIT = re.compile(r"(.+)_(mm|cm|m|km|ft|mi|deg)")


def points_of(sheet: Sheet, names: Sequence[str]) -> Array:
    """Return the points (M, d) of the named places, scaled to a largest extent of 1."""
    points = _coordinates(sheet.take(_rows(sheet, names)))
    points -= points.min(axis=0)
    width = float(points.max())
    if width == 0.0:
        raise sheet.error("places at different locations", f"all at one point in {sheet.source}")
    points /= width
    points.flags.writeable = False
    return points


def _rows(sheet: Sheet, names: Sequence[str]) -> list[int]:
    """Return the row of each place, found in the column that holds most of their names."""
    wanted = set(names)
    column = max(sheet.names, key=lambda one: len(wanted & set(sheet.columns[one])))
    rows: dict[str, int] = {}
    for row, cell in enumerate(sheet.columns[column]):
        if cell in wanted and rows.setdefault(cell, row) != row:
            got = f"{cell!r} on {sheet.where(rows[cell], row)}"
            raise sheet.error("one row per place", got)
    missing = [repr(name) for name in names if name not in rows]
    if missing:
        listed = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        got = f"none for {listed} in column {column!r} of {sheet.source}"
        raise sheet.error("a row for every place of the log", got)
    return [rows[name] for name in names]


def _coordinates(sheet: Sheet) -> Array:
    """Return axes unchanged, else latitude and longitude in km, else positions on a line."""
    axes = [name for spellings in _AXES if (name := _column(sheet, spellings))]
    latitude, longitude = _column(sheet, _LATITUDE), _column(sheet, _LONGITUDE)
    line = _column(sheet, _LINE)
    if axes and len({_split(name)[1] for name in axes}) == 1:
        return np.column_stack([_numbers(sheet, name) for name in axes])
    if latitude and longitude:
        return _projected(sheet, latitude, longitude)
    if line:
        return _numbers(sheet, line)[:, None]
    raise sheet.error(
        "coordinate columns in one unit",
        f"{', '.join(map(repr, sheet.names))} in {sheet.source}",
        "Name them x,y or latitude,longitude or, along a line, position.",
    )


def _column(sheet: Sheet, spellings: Sequence[str]) -> str | None:
    """Return the first column with one of these names, in any unit."""
    return next((name for name in sheet.names if _split(name)[0] in spellings), None)


def _split(name: str) -> tuple[str, str]:
    """Return a coordinate's name and its unit: x and m of x_m."""
    found = _UNIT.fullmatch(normalized_name(name))
    return (found[1], found[2]) if found else (normalized_name(name), "")


def _numbers(sheet: Sheet, name: str) -> Array:
    values = sheet.numbers(name)
    gaps = np.flatnonzero(np.isnan(values))
    if len(gaps):
        raise sheet.bad_cell("a coordinate for every place", name, int(gaps[0]))
    return values


def _projected(sheet: Sheet, latitude: str, longitude: str) -> Array:
    """Return (east, north) in km on the tangent plane at the centre of the places.

    Longitudes are relative to the first place, so that places may lie on both sides of the date
    line.
    """
    north, east = _numbers(sheet, latitude), _numbers(sheet, longitude)
    for name, degrees, largest in ((latitude, north, 90.0), (longitude, east, 360.0)):
        beyond = np.flatnonzero(np.abs(degrees) > largest)
        if len(beyond):
            raise sheet.bad_cell(f"degrees up to {largest:g}", name, int(beyond[0]))
    away = (east - east[0] + 180.0) % 360.0 - 180.0
    plane: Array = np.radians(np.column_stack([away * np.cos(np.radians(north.mean())), north]))
    return _EARTH * plane
