"""The studies of a service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

import httpx

from heliotrope.client.link import Link
from heliotrope.client.refusals import understood
from heliotrope.client.study import RemoteStudy
from heliotrope.spaces import Options, Parameter, SearchSpace
from heliotrope.storage import MemoryStore, StudyInfo
from heliotrope.storage.protocol import as_name
from heliotrope.study import Setup, Study
from heliotrope.study.clocks import Clock
from heliotrope.study.setups import Direction

_PAGE = 100  # studies in one answer


class Service:
    """The studies of a service; a context that closes its connections at the end."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def create(
        self,
        name: str,
        space: SearchSpace | Options | Mapping[str, Parameter] | Sequence[str],
        *,
        context: SearchSpace | Mapping[str, Parameter] | None = None,
        policy: Mapping[str, Any] | None = None,
        direction: Direction = "maximize",
        clock: Clock | str | None = None,
        seed: int = 0,
    ) -> RemoteStudy:
        """Begin a study; the parameters are those of :meth:`heliotrope.Study.create`."""
        here = Study.create(  # refuses what the service would refuse
            name,
            space,
            context=context,
            policy=policy,
            direction=direction,
            clock=clock,
            seed=seed,
            store=MemoryStore(),
        )
        return self.create_from(name, here.setup)

    def create_from(self, name: str, setup: Setup) -> RemoteStudy:
        """Begin a study of a setup.

        If the answer to an earlier try was lost and now the study exists with this very setup, it
        is taken for the one that the earlier try began.
        """
        wanted = setup.to_json()
        reply = self._link.send("POST", "studies", {"name": as_name(name), **wanted})
        if reply.status == httpx.codes.CONFLICT and reply.doubtful:
            found = self.open(name)
            if found.setup.to_json() == wanted:
                return found
        return RemoteStudy(self._link, reply.data())

    def open(self, name: str) -> RemoteStudy:
        """Go on with a study that exists."""
        return RemoteStudy(self._link, self._link.send("GET", f"studies/{as_name(name)}").data())

    def studies(self) -> list[StudyInfo]:
        """All studies, in the order of their names."""
        found: list[StudyInfo] = []
        params: dict[str, str | float] = {"limit": _PAGE}
        while True:
            page = self._link.send("GET", "studies", params=params).data()
            with understood():
                found += [StudyInfo(**entry) for entry in page["studies"]]
                if page["next"] is None:
                    return found
                params["after"] = page["next"]

    def close(self) -> None:
        """Close the connections."""
        self._link.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
