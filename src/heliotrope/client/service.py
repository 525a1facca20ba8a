"""The studies of a service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import httpx

from heliotrope.client.errors import valid_answer
from heliotrope.client.transport import Reply, Transport
from heliotrope.storage.protocol import StudyInfo, as_name

if TYPE_CHECKING:
    from heliotrope.client.study import RemoteStudy
    from heliotrope.directions import Direction
    from heliotrope.spaces import Options, Parameter, SearchSpace
    from heliotrope.study.clocks import Clock

_PAGE = 100  # studies in one answer


class Service:
    """The studies of a service; as a context manager it closes its connections at the end."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

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
        """Create a study; the parameters are those of :meth:`heliotrope.Study.create`."""
        from heliotrope.study import Study  # slow to load

        local = Study.create(  # raises the errors of the service, without a request
            name,
            space,
            context=context,
            policy=policy,
            direction=direction,
            clock=clock,
            seed=seed,
            store="memory:",
        )
        return self.create_from(name, local.config.to_json())

    def create_from(self, name: str, description: Mapping[str, Any]) -> RemoteStudy:
        """Create a study from its description as JSON.

        If the answer to an earlier attempt was lost, and the study now exists with exactly this
        description, it counts as created by the earlier attempt.
        """
        reply = self._transport.send("POST", "studies", {"name": as_name(name), **description})
        if reply.status == httpx.codes.CONFLICT and reply.doubtful:
            from heliotrope.study import StudyConfig  # slow to load

            found = self.open(name)
            if found.config.to_json() == StudyConfig.from_json(description).to_json():
                return found
        return self._study(reply)

    def open(self, name: str) -> RemoteStudy:
        """Open an existing study."""
        return self._study(self._transport.send("GET", f"studies/{as_name(name)}"))

    def studies(self) -> list[StudyInfo]:
        """All studies, by name."""
        found: list[StudyInfo] = []
        params: dict[str, str | float] = {"limit": _PAGE}
        while True:
            page = self._transport.send("GET", "studies", params=params).data()
            with valid_answer():
                found += [StudyInfo(**entry) for entry in page["studies"]]
                if page["next"] is None:
                    return found
                params["after"] = page["next"]

    def _study(self, reply: Reply) -> RemoteStudy:
        from heliotrope.client.study import RemoteStudy  # not needed to list studies

        return RemoteStudy(self._transport, reply.data())

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
