"""Examples of schemas of the OpenAPI description, composed of those of their parts."""

from collections.abc import Mapping
from typing import Any, Final

MISSING: Final = "no example"
"""Stands where a part has no example."""

_OF_TYPE: Final[dict[str, Any]] = {"object": {}, "boolean": True, "array": []}


def example_of(schema: Mapping[str, Any], components: Mapping[str, Any]) -> Any:
    """The example of a schema; `components` are the schemas that it may refer to.

    >>> example_of({"properties": {"n": {"type": "integer", "examples": [3]}, "on": {"type": "boolean"}}}, {})
    {'n': 3, 'on': True}
    """
    if "$ref" in schema:
        return example_of(components[schema["$ref"].rpartition("/")[2]], components)
    if given := schema.get("examples") or schema.get("enum"):
        return given[0]
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    if "anyOf" in schema:
        return example_of(schema["anyOf"][0], components)
    if "properties" in schema:
        return {name: example_of(part, components) for name, part in schema["properties"].items()}
    if schema.get("format") == "date-time":
        return "2026-01-01T12:00:00Z"
    if "items" in schema:
        return [example_of(schema["items"], components)]
    return _OF_TYPE.get(schema.get("type", ""), MISSING)
