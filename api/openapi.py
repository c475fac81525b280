"""Problems and authentication in the OpenAPI description."""

from typing import Any, Final

from fastapi import FastAPI
from pydantic.json_schema import models_json_schema

from api.problems import Problem, problem_responses
from api.security.authentication import PUBLIC_PATHS, SAFE_METHODS, SESSIONS

SCHEME: Final = "token"
_BEARER: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token of `ragq token create NAME`. While none exists, requests on loopback need none.",
}


def complete(app: FastAPI) -> None:
    """Describe problems, how a token is sent, and the replies to requests without one."""
    described = app.openapi
    _, models = models_json_schema([(Problem, "serialization")], ref_template="#/components/schemas/{model}")

    def openapi() -> dict[str, Any]:
        schema = described()
        schema["components"]["schemas"].update(models["$defs"])
        schema["components"]["securitySchemes"] = {SCHEME: _BEARER}
        # `{}` means no token: on loopback, while none exists.
        schema["security"] = [{SCHEME: []}, {}]
        for path, item in schema["paths"].items():
            for method, operation in item.items():
                if path in {*PUBLIC_PATHS, SESSIONS}:
                    operation["security"] = []
                    continue
                changes = method.upper() not in SAFE_METHODS
                refusals = [401, 422, *([403] if changes else []), *([413] if "requestBody" in operation else [])]
                for status, reply in problem_responses(*refusals).items():
                    operation["responses"].setdefault(str(status), reply)
        return schema

    app.openapi = openapi  # type: ignore[method-assign]
