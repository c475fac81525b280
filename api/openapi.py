"""What the description of the API says of its doors."""

from typing import Any, Final

from fastapi import FastAPI

from api.problems import problem_responses
from api.security.authentication import PUBLIC_PATHS, SAFE_METHODS

SCHEME: Final = "token"


def describe_security(app: FastAPI) -> None:
    """Tell in OpenAPI how a token is shown, and how the doors answer whoever shows none."""
    described = app.openapi

    def openapi() -> dict[str, Any]:
        schema = described()
        schemes = schema.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes[SCHEME] = {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of `ragq token create NAME`. While there is none, none is needed on loopback.",
        }
        # Without a token, too: on loopback, while there is none.
        schema["security"] = [{SCHEME: []}, {}]
        for path, item in schema["paths"].items():
            for method, operation in item.items():
                if path in PUBLIC_PATHS:
                    operation["security"] = []
                    continue
                changes = method.upper() not in SAFE_METHODS
                refusals = [401, *([403] if changes else []), *([413] if "requestBody" in operation else [])]
                for status, reply in problem_responses(*refusals).items():
                    operation["responses"].setdefault(str(status), reply)
        return schema

    app.openapi = openapi  # type: ignore[method-assign]
