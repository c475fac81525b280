"""Problems and authentication in the OpenAPI description."""

from typing import Any, Final

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from api.problems import MEDIA_TYPE, Problem
from api.security.authentication import PUBLIC_PATHS, SESSIONS

SCHEME: Final = "token"
_BEARER: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token of `ragq token create NAME`. While none exists, requests on loopback need none.",
}

#: Every status that a route does not name.
PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    "default": {
        "description": "A problem; its type names the reason, and its detail what to do",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}


def complete(app: FastAPI) -> None:
    """Describe problems, and how a token is sent."""
    described = app.openapi
    _, models = models_json_schema([(Problem, "serialization")], ref_template="#/components/schemas/{model}")

    def openapi() -> dict[str, Any]:
        schema = described()
        schema["components"]["schemas"].update(models["$defs"])
        schema["components"]["securitySchemes"] = {SCHEME: _BEARER}
        # `{}` means no token: on loopback, while none exists.
        schema["security"] = [{SCHEME: []}, {}]
        for path, item in schema["paths"].items():
            if path in {*PUBLIC_PATHS, SESSIONS}:
                for operation in item.values():
                    operation["security"] = []
        return schema

    app.openapi = openapi  # type: ignore[method-assign]
