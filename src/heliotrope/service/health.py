"""The health check: it writes to the store, and answers even if the store is silent."""

import asyncio
from time import monotonic

from heliotrope.errors import StoreError
from heliotrope.storage import Store

_PATIENCE = 5.0  # seconds until a silent store counts as failed
_FRESH = 1.0  # seconds for which a result is valid: checks need no token, and a write takes a sync


class Health:
    """Whether the store accepts writes; simultaneous checks share one write."""

    def __init__(self, store: Store, patience: float = _PATIENCE) -> None:
        self._store, self._patience = store, patience
        self._probe: asyncio.Future[None] | None = None
        self._started = 0.0

    async def check(self) -> None:
        """Return if a write succeeds; StoreError if it fails, or takes too long."""
        loop = asyncio.get_running_loop()
        if self._probe is None or (self._probe.done() and monotonic() - self._started > _FRESH):
            self._started = monotonic()
            self._probe = asyncio.ensure_future(loop.run_in_executor(None, self._store.probe))
            self._probe.add_done_callback(lambda done: done.exception())  # somebody looked at it
        finished, _ = await asyncio.wait([self._probe], timeout=self._patience)
        if not finished:
            raise StoreError(f"a store that writes within {self._patience:g} s", "a silent one")
        self._probe.result()
