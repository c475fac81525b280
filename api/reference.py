"""The OpenAPI description as a page reads it: operations by group, their parts, and the objects in them."""

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup, escape

from api.examples import example_of

_JSON: Final = "application/json"
_FORM: Final = "multipart/form-data"
#: Limits of a value, as its type shows them.
_LIMITS: Final = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "above {}",
    "exclusiveMaximum": "below {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {}",
    "maxItems": "at most {}",
}


class Part(NamedTuple):
    """A parameter, or a field of an object."""

    name: str
    place: str
    """`path`, `query` or `header` of a parameter."""
    type: Markup
    is_required: bool
    words: Markup
    default: str | None


class Content(NamedTuple):
    """A body, or a reply."""

    title: str
    words: Markup
    type: Markup | None
    example: str | None
    media_type: str


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One method of one address."""

    id: str
    method: str
    path: str
    summary: str
    words: Markup
    parameters: list[Part]
    body: Content | None
    replies: list[Content]
    problems: list[str]
    """Statuses with which it may be refused."""
    curl: str


class Group(NamedTuple):
    """The operations on one kind of thing."""

    name: str
    words: str
    operations: list[Operation]


class Schema(NamedTuple):
    """An object of a body or a reply."""

    name: str
    words: Markup
    fields: list[Part]


class Reference(NamedTuple):
    """Everything."""

    groups: list[Group]
    schemas: list[Schema]


def reference(described: Mapping[str, Any]) -> Reference:
    """The reference of an OpenAPI description."""
    components = described["components"]["schemas"]
    operations = [
        (operation.get("tags"), _operation(method, path, operation, components))
        for path, item in described["paths"].items()
        for method, operation in item.items()
    ]
    groups = [
        Group(tag["name"], tag["description"], [one for tags, one in operations if tags == [tag["name"]]])
        for tag in described["tags"]
    ]
    schemas = [
        Schema(name, words_of(schema.get("description", "")), list(_fields(schema)))
        for name, schema in sorted(components.items())
    ]
    return Reference(groups, schemas)


def words_of(text: str) -> Markup:
    """A description: its paragraphs, with what is between backticks as code.

    >>> words_of("Send `a<b`.")
    Markup('<p>Send <code>a&lt;b</code>.</p>')
    """
    paragraphs = (" ".join(part.split()) for part in text.split("\n\n"))
    return Markup("").join(Markup("<p>{}</p>").format(_with_code(part)) for part in paragraphs if part)


def _with_code(text: str) -> Markup:
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


def _operation(method: str, path: str, operation: Mapping[str, Any], components: Mapping[str, Any]) -> Operation:
    body = _body(operation, components)
    replies = {status: reply for status, reply in operation["responses"].items() if status < "400"}
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        words=words_of(operation.get("description", "")),
        parameters=[_parameter(one) for one in operation.get("parameters", [])],
        body=body,
        replies=[_content(f"{status}", reply, components) for status, reply in sorted(replies.items())],
        problems=sorted(set(operation["responses"]) - set(replies)),
        curl=_curl(method.upper(), path, operation, body, components),
    )


def _parameter(one: Mapping[str, Any]) -> Part:
    return _part(one["name"], one["schema"], place=one["in"], is_required=one.get("required", False))


def _fields(schema: Mapping[str, Any]) -> Iterator[Part]:
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        yield _part(name, part, is_required=name in required)


def _part(name: str, schema: Mapping[str, Any], *, is_required: bool, place: str = "") -> Part:
    has_default = schema.get("default") is not None
    return Part(
        name=name,
        place=place,
        type=_type(schema),
        is_required=is_required,
        words=words_of(schema.get("description", "")),
        default=json.dumps(schema["default"], ensure_ascii=False) if has_default else None,
    )


def _body(operation: Mapping[str, Any], components: Mapping[str, Any]) -> Content | None:
    given = operation.get("requestBody")
    return None if given is None else _content("Body", given, components)


def _content(title: str, part: Mapping[str, Any], components: Mapping[str, Any]) -> Content:
    words = words_of(part.get("description", ""))
    for media_type, content in part.get("content", {}).items():
        schema = content.get("schema", content.get("itemSchema", {}))
        return Content(title, words, _type(schema), _example(media_type, content, components), media_type)
    return Content(title, words, None, None, "")


def _example(media_type: str, content: Mapping[str, Any], components: Mapping[str, Any]) -> str | None:
    if "example" in content:
        return str(content["example"])
    if media_type != _JSON:
        return None
    return json.dumps(example_of(content["schema"], components), indent=2, ensure_ascii=False)


def _type(schema: Mapping[str, Any]) -> Markup:
    """A type in words; the name of an object is a link to its fields."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return Markup('<a href="#schema-{0}">{0}</a>').format(name)
    for name in ("anyOf", "oneOf", "allOf"):
        if name in schema:
            return Markup(" or ").join(dict.fromkeys(_type(one) for one in schema[name]))
    if "const" in schema:
        return Markup("<code>{}</code>").format(json.dumps(schema["const"]))
    if "enum" in schema:
        return Markup(" or ").join(Markup("<code>{}</code>").format(value) for value in schema["enum"])
    kind = schema.get("format") or schema.get("type", "any value")
    if kind == "array":
        named = Markup("list of {}").format(_type(schema.get("items", {})))
    elif kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        named = Markup("object of {}").format(_type(schema["additionalProperties"]))
    else:
        named = escape(kind)
    limits = ", ".join(words.format(schema[name]) for name, words in _LIMITS.items() if name in schema)
    return Markup("{}, {}").format(named, limits) if limits else named


def _curl(
    method: str, path: str, operation: Mapping[str, Any], body: Content | None, components: Mapping[str, Any]
) -> str:
    """The operation as a command."""
    for one in operation.get("parameters", []):
        if one["in"] == "path":
            path = path.replace(f"{{{one['name']}}}", str(example_of(one["schema"], components)))
    required = {
        one["name"]: example_of(one["schema"], components)
        for one in operation.get("parameters", [])
        if one["in"] == "query" and one.get("required")
    }
    if required:
        path += f"?{urlencode(required, doseq=True)}"
    words = ["curl"] if method == "GET" or (method == "POST" and body) else ["curl", "-X", method]
    words.append(f'"$API{path}"')
    if body is not None and body.media_type == _FORM:
        words += ["-F", "files=@FILE"]
    elif body is not None:
        assert body.example is not None
        sent = json.dumps(json.loads(body.example), ensure_ascii=False)
        words += ["-H", '"Content-Type: application/json"', "-d", shlex.quote(sent)]
    return " ".join(words)
