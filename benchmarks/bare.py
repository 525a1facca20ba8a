"""The limit of the service: a bare route of the same framework on the same server.

``python -m benchmarks.bare FILE PORT`` parses the same body and syncs one row, and nothing else.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from threading import Lock

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from heliotrope.service.connections import GuardedProtocol

ASK = {"id": "0123456789ab-01234567-0", "t": 1.0, "option": "option 7"}


def bare_app(path: str) -> Starlette:
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    for setting in ("journal_mode=WAL", "synchronous=FULL"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("CREATE TABLE rows (body TEXT)")
    lock = Lock()

    def write(text: str) -> None:
        with lock:
            connection.execute("INSERT INTO rows VALUES (?)", (text,))

    async def answer(request: Request) -> JSONResponse:
        body = json.loads(await request.body())
        await run_in_threadpool(write, json.dumps(body))
        return JSONResponse({**ASK, "ask": ASK})

    return Starlette(routes=[Route("/{rest:path}", answer, methods=["POST"])])


if __name__ == "__main__":
    file, port = sys.argv[1:]
    uvicorn.run(
        bare_app(file), port=int(port), http=GuardedProtocol, ws="none", log_level="warning"
    )
