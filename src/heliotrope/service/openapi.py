"""The OpenAPI document of the service, made from its endpoints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

from heliotrope import __version__
from heliotrope.service.routing import Endpoint, Operation, RequestParameter
from heliotrope.service.schemas import SCHEMAS, reference
from heliotrope.validation import Json

_ALWAYS = (401, 403, 422)  # token, origin, values
_NAME = {"type": "string"}


def document(endpoints: Iterable[Endpoint]) -> Json:
    """The description of all endpoints."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Heliotrope",
            "summary": "Track the optimum of a noisy function that changes over time.",
            "version": __version__,
        },
        "paths": {
            endpoint.path: {
                method.lower(): _operation(endpoint.path, operation)
                for method, operation in endpoint.operations.items()
            }
            for endpoint in endpoints
        },
        "components": {"schemas": SCHEMAS},
    }


def _operation(path: str, operation: Operation) -> Json:
    subject = operation.subject or operation.handler
    text = (inspect.getdoc(subject) or "").replace("``", "`")  # Markdown
    described: Json = {
        "summary": text.partition("\n")[0].rstrip("."),
        "description": text,
        "operationId": subject.__name__.lower(),
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": _NAME}
                for name in re.findall(r"{(\w+)}", path)
            ),
            *(_parameter(one) for one in operation.parameters if one.name != "Accept"),
        ],
        "responses": _responses(operation),
    }
    if operation.body is not None:
        content = {"application/json": {"schema": operation.body.schema}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _parameter(parameter: RequestParameter) -> Json:
    default = {} if parameter.default is None else {"default": parameter.default}
    return {
        "name": parameter.name,
        "in": parameter.location,
        "required": False,
        "description": parameter.description,
        "schema": {**parameter.schema, **default},
    }


def _responses(operation: Operation) -> Json:
    content: Json = {}
    if operation.answer is not None:
        content["application/json"] = {"schema": reference(operation.answer)}
    if operation.media_type:
        content[operation.media_type] = {"schema": {"type": "string"}}
    success = {"description": "Success", **({"content": content} if content else {})}
    error = {
        "description": "Error",
        "content": {"application/json": {"schema": reference("Error")}},
    }
    statuses = sorted({*_ALWAYS, *operation.errors})
    return {str(operation.status): success, **{str(status): error for status in statuses}}
