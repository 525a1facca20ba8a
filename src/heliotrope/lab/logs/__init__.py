"""Logged rewards from people's own tables: rows are times, columns are places or options.

:func:`read_log` takes a file, :func:`log_of` a pandas table; nothing else has to be said. A file
is UTF-8 text, plain or gzip, separated by comma, semicolon (a comma is then the decimal sign) or
tab, with a header. An empty cell and NA, N/A, NaN, null, none, - or ? are gaps. The rules:

Times
    A column is one of times if it is called time, timestamp, datetime, date, day, clock, t, step,
    round or the like (``times.NAMES``), or if it holds no numbers and begins with a time stamp,
    wherever it stands. Two such columns, one of them a clock (06:05), are a day (a date or a
    number) and its clock. Times are numbers, time stamps (also 20200403 and 202004030605) or,
    rising, clocks of one day. A time zone stands in all rows or in none. 03/04/2020 is refused
    unless another row shows which number is the day; 03.04.2020 has the day first. Without a
    column of times the rows are times 1, 2, 3, ..., unless the first column never falls: that
    may be a time under another name, and is refused. Rows may come in any order.
Long tables
    A table of times and two more columns is long, one row a measurement, if a time repeats or
    if one of the two is called place, sensor, station, arm, option, id or the like
    (``layouts.PLACES``). That column is the place; without such a name, the one beside a column
    called value, reward, y or the like (``layouts.VALUES``); else the one that holds no numbers.
    Where that leaves a doubt, the table counts as wide, in which no time may repeat. The third
    column beside a place and a value of such names is the time, whatever it is called. Places
    are sorted, s2 before s10.
Wide tables
    Every other table: each column that is not a time is a place.
Row numbers
    A first column without a name is dropped if it counts 0, 1, 2, ..., and is a time otherwise.
"""

from heliotrope.lab.logs.log import Log, log_of, read_log

__all__ = ["Log", "log_of", "read_log"]
