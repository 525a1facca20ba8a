"""Write the service's OpenAPI description for the TypeScript client: clients/typescript."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx

from heliotrope.service.app import create_app

FILE = Path(__file__).parents[1] / "clients" / "typescript" / "openapi.json"


def description() -> str:
    """The description as text, as in the file."""

    async def get() -> str:
        transport = httpx.ASGITransport(create_app("memory:"))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answer = await client.get("/openapi.json")
        return json.dumps(answer.raise_for_status().json(), indent=1) + "\n"

    return asyncio.run(get())


if __name__ == "__main__":
    FILE.write_text(description(), encoding="utf-8")
