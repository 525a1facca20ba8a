"""Logged rewards in tables: rows are times, columns are places or options.

:func:`read_log` reads a file, :func:`log_of` a pandas table; neither needs further options. A file
is UTF-8 text with a header, plain or gzip, separated by commas, semicolons (with decimal commas) or
tabs. An empty cell and NA, N/A, NaN, null, none, - or ? are gaps. The rules:

Times
    A column holds times if its name is time, timestamp, datetime, date, day, clock, t, step, round
    or similar (``times.TIME_NAMES``), or if it holds no numbers and starts with a timestamp. Of two
    such columns one must hold clock times (06:05), the other days (dates or numbers). Times are
    numbers, timestamps (also 20200403 and 202004030605) or increasing clock times of one day.
    Either all rows or none have a time zone. 03/04/2020 is rejected unless another row shows which
    number is the day; 03.04.2020 starts with the day. Without a time column the times are 1, 2, 3,
    ... If the first column never decreases, such a table is rejected, because that column may be a
    time under another name. Rows may have any order.
Long tables
    A table of times and two more columns is long (one row per measurement) if a time repeats, or
    if the name of one of the two is place, sensor, station, arm, option, id or similar
    (``layouts.PLACES``). That column is the place. Without such a name, the place is the column
    next to one named value, reward, y or similar (``layouts.VALUES``), otherwise the column without
    numbers. If the place remains unclear, the table counts as wide, and no time may repeat. Next to
    a place and a value with such names, a third column is the time, whatever its name. Places are
    sorted, s2 before s10.
Wide tables
    Every other table: each column that is not a time is a place.
Exports
    The export of a study, as CSV or JSON, is a log of the results that were told. Its places are
    the options, or the configurations; if these hardly repeat, they are grouped around at most 30
    of the first half.
Row numbers
    A first column without a name is dropped if it counts 0, 1, 2, ...; otherwise it is a time.
"""

from heliotrope.lab.logs.layouts import Columns
from heliotrope.lab.logs.log import Log, log_of, read_log

__all__ = ["Columns", "Log", "log_of", "read_log"]
