"""The studies of a service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from heliotrope.client import calls
from heliotrope.client.calls import StudyCalls
from heliotrope.client.study import RemoteStudy
from heliotrope.client.transport import Calls, Transport
from heliotrope.storage.protocol import StudyInfo

if TYPE_CHECKING:
    from heliotrope.directions import Direction
    from heliotrope.spaces import Parameter, SearchSpace, SpaceLike
    from heliotrope.study.clocks import Clock
    from heliotrope.study.command_fields import Command
    from heliotrope.study.goals import GoalArguments


class Service:
    """The studies of a service; as a context manager it closes its connections at the end."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self,
        name: str,
        space: SpaceLike,
        *,
        context: SearchSpace | Mapping[str, Parameter] | None = None,
        policy: Mapping[str, Any] | None = None,
        direction: Direction = "maximize",
        clock: Clock | str | None = None,
        seed: int | None = None,
        lease: str | None = None,
        like: Sequence[str] = (),
        exist_ok: bool = False,
        **goals: Unpack[GoalArguments],
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
            lease=lease,
            store="memory:",
            **goals,
        )
        return self.create_from(name, calls.description(local, seed, like), exist_ok=exist_ok)

    def create_from(
        self, name: str, description: Mapping[str, Any], *, exist_ok: bool = False
    ) -> RemoteStudy:
        """Create a study from its description as JSON, or with ``exist_ok`` continue it.

        If the answer to an earlier attempt was lost, and the study now exists with exactly this
        description, it counts as created by the earlier attempt.
        """
        return self._study(calls.create(name, description, exist_ok))

    def open(self, name: str) -> RemoteStudy:
        """Open an existing study."""
        return self._study(calls.open_study(name))

    def batch(self, commands: Sequence[tuple[RemoteStudy, Command[Any]]]) -> list[Any]:
        """Carry out commands to many studies, decided together and synced once.

        Returns the result of each, or the exception that it would have raised. Commands are in
        :mod:`heliotrope.study.commands`.
        """
        return self._transport.run(calls.batch(commands, RemoteStudy))

    def studies(self) -> list[StudyInfo]:
        """All studies, by name."""
        return self._transport.run(calls.list_studies())

    def _study(self, made: Calls[StudyCalls]) -> RemoteStudy:
        return RemoteStudy(self._transport, self._transport.run(made))

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
