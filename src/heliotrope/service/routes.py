"""The operations of the service: most call a study, and answer as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from starlette.responses import JSONResponse, Response

from heliotrope import __version__
from heliotrope.errors import InputError, located
from heliotrope.service.batches import BATCH, answer_all
from heliotrope.service.errors import RequestError
from heliotrope.service.metrics import Health, Metrics
from heliotrope.service.routing import Operation, loads, parameter
from heliotrope.service.streaming import STREAM, EventStreamResponse, EventStreams, event_to_json
from heliotrope.service.studies import Demos, Studies
from heliotrope.study.command_fields import Command, json_schema
from heliotrope.study.commands import BY_VERB
from heliotrope.study.creation import NEW_STUDY
from heliotrope.validation import Json

_BINARY, _CSV = "application/octet-stream", "text/csv"
_METRICS = "text/plain; version=0.0.4; charset=utf-8"
_MEDIA_TYPES = {"csv": _CSV, "json": "application/json"}
_STUDY = "/api/studies/{name}"

_TEXT: Json = {"type": "string"}
_SEQ: Json = {"type": "integer", "minimum": 0, "maximum": 2**53}
_PAGE_SIZE: Json = {"type": "integer", "minimum": 1, "maximum": 1_000}
_LIMIT = parameter("limit", "Page size.", _PAGE_SIZE, 100)
_AFTER_NAME = parameter("after", "List names after this one.", _TEXT, "")
_CONTAINS = parameter("contains", "List names that contain this text.", _TEXT, "")
_AFTER_EVENT = parameter("after", "List events after this number.", _SEQ, 0)
_LAST_EVENT = parameter("Last-Event-ID", "Overrides `after`.", _SEQ, location="header")
_ACCEPT = parameter("Accept", "", _TEXT, "", location="header")
_UID = parameter("uid", "Uid of the study.", {**_TEXT, "minLength": 1, "maxLength": 100})
_TIME = parameter("t", "Time. Default: now.", {"type": "number"})
_CONTEXT = parameter("context", "Context values as JSON. Default: those of the last ask.", _TEXT)
_METRIC = parameter("metric", "Name of a metric. Default: the objective.", _TEXT)
_KIND = parameter("kind", "File format.", {**_TEXT, "enum": list(_MEDIA_TYPES)}, "csv")


class Api:
    """The operations on the studies of a store."""

    def __init__(
        self,
        studies: Studies,
        streams: EventStreams,
        demos: Demos | None,
        metrics: Metrics,
        health: Health,
    ) -> None:
        self._studies, self._streams = studies, streams
        self._demos, self._metrics, self._health = demos, metrics, health

    def operations(self) -> Sequence[Operation]:
        """All operations."""
        many, study, paging = "/api/studies", _STUDY, (_AFTER_EVENT, _LIMIT, _LAST_EVENT, _ACCEPT)
        return (
            *(self._command(kind) for kind in BY_VERB.values()),
            Operation("GET", study, self.summary, "Summary", [_CONTEXT]),
            Operation("DELETE", study, self.delete, None, [_UID], status=204),
            Operation("GET", f"{study}/belief", self.belief, "Belief", [_TIME, _CONTEXT, _METRIC]),
            Operation("GET", f"{study}/front", self.front, "Front", [_TIME, _CONTEXT]),
            Operation("GET", f"{study}/track", self.track, "Track"),
            Operation(
                "GET", f"{study}/events", self.events, "EventPage", paging, [429], media_type=STREAM
            ),
            Operation("GET", f"{study}/export", self.export, "Export", [_KIND], media_type=_CSV),
            Operation("GET", f"{study}/file", self.file, None, media_type=_BINARY),
            Operation("GET", many, self.list, "Listing", [_AFTER_NAME, _LIMIT, _CONTAINS]),
            Operation("POST", many, self.create, "Summary", (), [409], NEW_STUDY, 201),
            Operation("POST", "/api/batch", self.batch, "Batch", (), (), BATCH),
            Operation("POST", "/api/demo", self.demo, "Demo", (), [429], status=201),
            Operation("GET", "/healthz", self.health, "Health"),
            Operation("GET", "/metrics", self.metrics, None, media_type=_METRICS),
        )

    def _command(self, kind: type[Command[Any]]) -> Operation:
        async def do(name: str, body: Json) -> Response:
            command = kind.from_json(body)
            result = await self._studies.do(name, command)
            self._metrics.count(command)
            return JSONResponse(command.answer(result))

        path, schema = f"{_STUDY}/{kind.verb}", json_schema(kind)
        return Operation("POST", path, do, kind.answered, (), [409], schema, subject=kind)

    def batch(self, body: Json) -> Response:
        """Carry out commands to many studies with one sync; each is answered on its own."""
        answers = answer_all(self._studies, body, self._metrics.count)
        return JSONResponse({"answers": answers})

    def create(self, body: Json) -> Response:
        """Create a study."""
        if "name" not in body:
            raise InputError("a value", "none", field="name")
        return JSONResponse(self._studies.create(body.pop("name"), body), 201)

    def list(self, after: str, limit: int, contains: str) -> Response:
        """List studies by name."""
        with located("after"):
            page = self._studies.store.studies(after, limit)
        wanted = contains.casefold()
        listed = [info for info in page if wanted in info.name.casefold()]
        while len(listed) < limit == len(page):
            page = self._studies.store.studies(page[-1].name, limit)
            listed += [info for info in page if wanted in info.name.casefold()]
        listed = listed[:limit]
        following = listed[-1].name if len(listed) == limit else None
        return JSONResponse({"studies": [asdict(info) for info in listed], "next": following})

    def summary(self, name: str, context: str | None) -> Response:
        """Summarize a study: its setup, its counts, the best now, the drift."""
        values = _parsed(context)
        return JSONResponse(self._studies.use(name, lambda study: study.summary(context=values)))

    def delete(self, name: str, uid: str | None) -> Response:
        """Delete a study with all its events."""
        self._studies.delete(name, uid)
        return Response(status_code=204)

    def belief(
        self, name: str, t: float | None, context: str | None, metric: str | None
    ) -> Response:
        """Show the belief about all choices, now or at a time in the past."""
        values = _parsed(context)
        shown = self._studies.use(
            name, lambda study: study.belief(t, context=values, metric=metric)
        )
        return JSONResponse(shown)

    def front(self, name: str, t: float | None, context: str | None) -> Response:
        """Show the best trade-offs between several objectives."""
        values = _parsed(context)
        return JSONResponse(self._studies.use(name, lambda study: study.front(t, context=values)))

    def track(self, name: str) -> Response:
        """Show the results over time, and how the best has moved."""
        return JSONResponse(self._studies.use(name, lambda study: study.track()))

    def events(
        self, name: str, after: int, limit: int, last_event_id: int | None, accept: str
    ) -> Response:
        """List the events after a number.

        With ``Accept: text/event-stream``, send them as server-sent events, and later events as
        they are written.
        """
        info = self._studies.find(name)
        start = after if last_event_id is None else last_event_id
        if STREAM in accept:
            return EventStreamResponse(self._streams, info.uid, start)
        events = self._studies.store.events(info.uid, start, limit)
        page = [event_to_json(event) for event in events]
        last = max([info.events, *(event["seq"] for event in page)])
        return JSONResponse({"events": page, "last": last})

    def export(self, name: str, kind: str) -> Response:
        """Download all evaluations with their results."""
        text = self._studies.use(name, lambda study: study.export(kind))
        headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
        return Response(text, media_type=_MEDIA_TYPES[kind], headers=headers)

    def file(self, name: str) -> Response:
        """Download the setup, the events and a snapshot as one file.

        ``Study.load`` and ``Optimizer.load`` open it.
        """
        data = self._studies.use(name, lambda study: study.file())
        headers = {"Content-Disposition": f'attachment; filename="{name}.heliotrope"'}
        return Response(data, media_type=_BINARY, headers=headers)

    def demo(self) -> Response:
        """Start a study that the service itself drives for a while."""
        if self._demos is None:
            raise RequestError(
                403, "no_demo", "a service that runs demos", "one started with --no-demo"
            )
        return JSONResponse({"name": self._demos.start()}, 201)

    async def health(self) -> Response:
        """Check that the service runs and writes to its store."""
        await self._health.check()
        return JSONResponse({"status": "ok", "version": __version__})

    def metrics(self) -> Response:
        """Export metrics in the Prometheus text format."""
        return Response(self._metrics.text(), media_type=_METRICS)


def _parsed(context: str | None) -> Any:
    return None if context is None else loads(context.encode(), "context")
