"""Open a store by its URL."""

from heliotrope.errors import InputError, requires_extra
from heliotrope.storage.protocol import MemoryStore, Store
from heliotrope.surroundings import REAL, Surroundings

_ADVICE = "memory:, sqlite:///file.db, sqlite:////absolute/file.db or postgresql://user@host/name"


def open_store(url: str, *, make: bool = True, surroundings: Surroundings = REAL) -> Store:
    """Open the store of a URL, and create its tables if there are none.

    ``memory:`` is a new store in this process. ``sqlite:///file.db`` is a file, relative to the
    working directory, for several processes of one machine. ``postgresql://user@host/name`` is for
    many machines. Without ``make``, a missing SQLite file is a StoreError.

    Examples
    --------
    >>> from heliotrope.storage import Append
    >>> store = open_store("memory:")
    >>> uid = store.create("pump speed", {"kind": "created", "version": 1}, at=0.0)
    >>> store.append([Append(uid, after=1, bodies=[{"kind": "asked"}, {"kind": "told"}])])
    [3]
    >>> [event.body["kind"] for event in store.events(uid)]
    ['created', 'asked', 'told']
    """
    scheme = url.partition(":")[0] if isinstance(url, str) else ""
    if url == "memory:":
        return MemoryStore(surroundings)
    if scheme not in ("sqlite", "postgresql"):
        raise InputError("the URL of a store", repr(url), f"Use {_ADVICE}.")
    with requires_extra("store"):
        return _open_sql(scheme, url, make, surroundings)


def _open_sql(scheme: str, url: str, make: bool, surroundings: Surroundings) -> Store:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    from heliotrope.storage.postgresql import PostgresDatabase
    from heliotrope.storage.sql import SqlStore
    from heliotrope.storage.sqlite import open_sqlite

    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:  # its text would show the password
        raise InputError("the URL of a store", "one that cannot be read", _ADVICE) from error
    database = (
        open_sqlite(parsed, make)
        if scheme == "sqlite"
        else PostgresDatabase(parsed, surroundings.now)
    )
    try:
        database.prepare()
    except BaseException:
        database.close()
        raise
    return SqlStore(database, surroundings)
