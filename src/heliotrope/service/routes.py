"""The routes below /api, each a line or two around a study."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.routing import APIRoute

from heliotrope.service import schemas
from heliotrope.service.bodies import QuickRoute, StrictRoute, loads
from heliotrope.service.demos import Demos
from heliotrope.service.metrics import Metrics
from heliotrope.service.refusals import Refusal
from heliotrope.service.studies import Studies
from heliotrope.service.watching import Watch, as_json
from heliotrope.study.commands import Add, Ask, Tell

Name: TypeAlias = Annotated[str, Path(description="The study.")]
Number: TypeAlias = Annotated[int, Query(ge=0, le=2**53, description="The event before.")]
Limit: TypeAlias = Annotated[int, Query(ge=1, le=1_000, description="At most so many.")]
InContext: TypeAlias = Annotated[
    str | None, Query(description="Values by name as JSON; by default those of the latest ask.")
]

_CSV, _STREAM = "text/csv", "text/event-stream"
_MEDIA = {"csv": _CSV, "json": "application/json"}


class Api:
    """What can be done with the studies of a store."""

    def __init__(
        self, studies: Studies, watch: Watch, demos: Demos | None, metrics: Metrics
    ) -> None:
        self._studies, self._watch, self._demos, self._metrics = studies, watch, demos, metrics

    def add_to(self, router: APIRouter) -> None:
        """Add all routes, with what they answer."""
        many, one = "/api/studies", "/api/studies/{name}"
        add = partial(_add, router)
        add("POST", f"{one}/ask", self.ask, schemas.Ask, 404, 409, 413, 415, kind=QuickRoute)
        add("POST", f"{one}/tell", self.tell, schemas.Told, 404, 409, 413, 415, kind=QuickRoute)
        add("POST", f"{one}/add", self.add, schemas.Ask, 404, 409, 413, 415, kind=QuickRoute)
        add("POST", f"{one}/cancel", self.cancel, schemas.Cancelled, 404, 409, 413, 415)
        add("GET", one, self.summary, schemas.Summary, 404)
        add("GET", f"{one}/belief", self.belief, schemas.Belief, 404)
        add("GET", f"{one}/track", self.track, schemas.Track, 404)
        add("GET", f"{one}/events", self.events, schemas.Events, 404, 429, also=_STREAM)
        add("GET", f"{one}/export", self.export, None, 404, also=_CSV)
        add("DELETE", one, self.delete, None, 404, status=204)
        add("POST", many, self.create, schemas.Summary, 409, 413, 415, status=201)
        add("GET", many, self.list, schemas.Listing)
        add("POST", "/api/demo", self.demo, schemas.Started, 415, 429, status=201)

    def create(self, body: schemas.NewStudy) -> Response:
        """Begin a study."""
        return JSONResponse(self._studies.create(body.name, body.setup()).summary(), 201)

    def list(self, after: str = "", limit: Limit = 100) -> Response:
        """Studies in the order of their names, those beyond the name ``after``."""
        found = self._studies.page(after, limit)
        following = found[-1].name if len(found) == limit else None
        return JSONResponse({"studies": [asdict(info) for info in found], "next": following})

    def summary(self, name: Name, context: InContext = None) -> Response:
        """A study at a glance: what it is, how far it got, what is best now."""
        given = _parsed(context)
        return JSONResponse(self._studies.use(name, lambda study: study.summary(context=given)))

    def delete(
        self, name: Name, uid: Annotated[schemas.Uid | None, Query(description="Its own.")] = None
    ) -> Response:
        """Remove a study with all its events."""
        self._studies.delete(name, uid)
        return Response(status_code=204)

    async def ask(self, name: Name, body: schemas.AskFor) -> Response:
        """Say what to measure now; the same key again gives the same open ask."""
        command = Ask.from_json(body.model_dump(exclude_unset=True))
        ask = await self._studies.do(name, command)
        self._metrics.asks.inc()
        return JSONResponse(command.answer(ask))

    async def tell(self, name: Name, body: schemas.Tell) -> Response:
        """Take a result; the same again is accepted. With an ask: say what to measure next."""
        command = Tell.from_json(body.model_dump(exclude_unset=True))
        ask = await self._studies.do(name, command)
        if command.ask is not None:
            self._metrics.asks.inc()
        self._metrics.tells.inc()
        return JSONResponse(command.answer(ask))

    async def add(self, name: Name, body: schemas.Add) -> Response:
        """Take the value of what somebody else chose; by the same key it is taken once."""
        command = Add.from_json(body.model_dump(exclude_unset=True))
        ask = await self._studies.do(name, command)
        self._metrics.tells.inc()
        return JSONResponse(command.answer(ask))

    def cancel(self, name: Name, body: schemas.Cancel) -> Response:
        """Give up an ask whose measurement failed."""
        self._studies.use(name, lambda study: study.cancel(body.id))
        return JSONResponse({"cancelled": body.id})

    def belief(
        self,
        name: Name,
        t: Annotated[float | None, Query(description="Now if not given.")] = None,
        context: InContext = None,
    ) -> Response:
        """What is believed at a time, now or in the past, of all there is to choose from."""
        given = _parsed(context)
        return JSONResponse(self._studies.use(name, lambda study: study.belief(t, context=given)))

    def track(self, name: Name) -> Response:
        """Results over time, and where the best was."""
        return JSONResponse(self._studies.use(name, lambda study: study.track()))

    def events(
        self,
        request: Request,
        name: Name,
        after: Number = 0,
        limit: Limit = 100,
        last_event_id: Annotated[int | None, Header(ge=0, le=2**53)] = None,
    ) -> Response:
        """The log beyond an event; as server-sent events also what comes, as it comes."""
        info = self._studies.find(name)
        start = after if last_event_id is None else last_event_id
        if _STREAM in request.headers.get("accept", ""):
            self._watch.check_room()
            return StreamingResponse(self._watch.stream(info.uid, start), media_type=_STREAM)
        found = [as_json(event) for event in self._studies.events(info.uid, start, limit)]
        last = max([info.events, *(event["seq"] for event in found)])
        return JSONResponse({"events": found, "last": last})

    def export(self, name: Name, kind: Literal["csv", "json"] = "csv") -> Response:
        """All asks with their results, to download."""
        text = self._studies.use(name, lambda study: study.export(kind))
        headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
        return Response(text, media_type=_MEDIA[kind], headers=headers)

    def demo(self) -> Response:
        """Begin a study that the service itself drives for a while."""
        if self._demos is None:
            raise Refusal(403, "no_demo", "This service was started without demos.")
        return JSONResponse({"name": self._demos.start()}, 201)


def _parsed(context: str | None) -> Any:
    """What a query says of a context."""
    if context is None:
        return None
    try:
        return loads(context.encode())
    except Refusal as refusal:
        refusal.field = "context"
        raise


def _add(
    router: APIRouter,
    method: str,
    path: str,
    endpoint: Callable[..., Response | Awaitable[Response]],
    model: type | None,
    *refusals: int,
    status: int = 200,
    also: str = "",
    kind: type[APIRoute] = StrictRoute,
) -> None:
    """Add a route and its description; any may be refused for its token, its site, its values."""
    responses: dict[int | str, dict[str, Any]] = {
        code: {"model": schemas.Problem} for code in (401, 403, 422, *refusals)
    }
    responses[status] = {} if model is None else {"model": model}
    if also:
        responses[status]["content"] = {also: {"schema": {"type": "string"}}}
    router.add_api_route(
        path,
        endpoint,
        methods=[method],
        status_code=status,
        response_model=None,
        responses=responses,
        route_class_override=kind,
    )
