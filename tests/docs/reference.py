"""The generated pages of the site: every command, every setting, and every endpoint of the REST API.

.venv/bin/python -m tests.docs.reference
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import click

from api.app import make_app
from api.context import ApiContext
from cli.main import cli
from schemas.settings.base import Setting, allowed, by_group, value_in_words
from schemas.settings.names import ALIASES, LIMITED, OF_COMMANDS, WITHOUT_EFFECT
from schemas.settings.preset import PRESET_SETTINGS
from schemas.settings.process import PROCESS_SETTINGS, ProcessSettings
from schemas.settings.profiles import PROFILES
from schemas.settings.run import RUN_SETTINGS
from store.database import Database
from tests.docs.blocks import commands_of
from workers.app import make_app as make_broker

DOCS: Final = Path(__file__).parents[2] / "docs"


def command_pages() -> str:
    """The help of every command, as Markdown."""
    sections = [
        f"{'##' if len(names) == 1 else '###'} ragq {' '.join(names)}\n\n```text\n{_help(names, command)}\n```\n"
        for names, command in commands_of(cli)
    ]
    return "# Commands\n\nGenerated from the commands; each is the text of `--help`.\n\n" + "\n".join(sections)


def _help(names: tuple[str, ...], command: click.Command) -> str:
    # A command keeps the option of its first help: it has to be the one that users see.
    context = click.Context(
        command,
        info_name=" ".join(("ragq", *names)),
        **cli.context_settings,
        max_content_width=100,
        terminal_width=100,
    )
    return command.get_help(context)


def rest_page() -> str:
    """Every endpoint with its parameters, its body and its replies, as Markdown."""
    document = _openapi()
    sections = [
        _endpoint(method.upper(), path, operation, document)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    return "# REST endpoints\n\nGenerated from the OpenAPI document, which the API serves.\n\n" + "\n".join(sections)


def _openapi() -> dict[str, Any]:
    """The description of the API, which no server is asked for."""
    database = Database("postgresql://localhost/ragq")
    return make_app(
        ApiContext(settings=ProcessSettings(), database=database, broker=make_broker("redis://localhost"))
    ).openapi()


def _endpoint(method: str, path: str, operation: dict[str, Any], document: dict[str, Any]) -> str:
    parts = [f"## `{method} {path}`", operation.get("description") or operation["summary"]]
    if parameters := operation.get("parameters"):
        rows = [
            f"| `{parameter['name']}` | {parameter['in']} | {_type(parameter['schema'])} "
            f"| {' '.join(parameter.get('description', '').split())} |"
            for parameter in parameters
        ]
        parts.append("\n".join(["| parameter | in | type | meaning |", "|---|---|---|---|", *rows]))
    for content in operation.get("requestBody", {}).get("content", {}).values():
        parts.append(_fields(content["schema"], document))
    replies = [f"`{status}` {reply['description']}" for status, reply in operation["responses"].items()]
    return "\n\n".join([*parts, "Replies: " + ", ".join(replies)]) + "\n"


def _fields(schema: dict[str, Any], document: dict[str, Any]) -> str:
    if reference := schema.get("$ref"):
        schema = document["components"]["schemas"][reference.rpartition("/")[2]]
    required = schema.get("required", [])
    rows = [
        f"| `{name}`{' (required)' if name in required else ''} | {_type(field)} "
        f"| {' '.join(field.get('description', '').split())} |"
        for name, field in schema.get("properties", {}).items()
    ]
    return "\n".join(["| field of the body | type | meaning |", "|---|---|---|", *rows]) if rows else ""


def _type(schema: dict[str, Any]) -> str:
    if reference := schema.get("$ref"):
        return str(reference.rpartition("/")[2])
    if options := schema.get("anyOf"):
        return " or ".join(_type(option) for option in options)
    if values := schema.get("enum"):
        return ", ".join(f"`{json.dumps(value)}`" for value in values)
    kind = str(schema.get("type", "any"))
    return f"list of {_type(schema['items'])}" if kind == "array" and "items" in schema else kind


_HEAD = """\
# Settings

Generated from the settings. `ragq config show` prints the effective values.

The first of these sources that has a setting decides: `--set NAME=VALUE`, the file of `ragq submit --config`, the
environment, `.env` in the working directory (unless `TESTING` is set), the profile, the default. A run keeps its
values. An unknown name that starts with `EMBEDDING_`, `PSQ_`, `QUANTITATIVE_` or `RAGQ_` is refused, and so is a
misspelt name.
"""

_PRESETS = """\
## Presets of query runs

`ragq preset` changes them, `ragq submit --preset` selects one, `--set` overrides one value. The environment has no
effect. The defaults belong to a new preset. [Presets](../presets.md) explains them.
"""

_PROFILES = """\
## Profiles

`--profile` selects the profile, else `RAGQ_PROFILE`. The default is `local`, or `server` when `OLLAMA_HOST` or
`RAGQ_OPENAI_BASE_URL` is set. Run `ragq index chunk-scores` before the first run with `validated`.
"""

_ORIGINAL = """\
## Names of the original

Environment names of ai-psychiatrist that are not settings above, or differ from them. A name that is warned about has
no effect; `--set` refuses it.
"""


def settings_reference() -> str:
    """The text of docs/reference/settings.md."""
    runs = [_section(_heading(name), group, found) for name, group, found in by_group(RUN_SETTINGS)]
    presets = [_PRESETS, _settings_table(PRESET_SETTINGS.values())]
    process = _section("The process", ProcessSettings, PROCESS_SETTINGS.values())
    return "\n".join([_HEAD, _PROFILES, *_profiles(), *runs, *presets, process, _ORIGINAL, _original_names()])


def _heading(group: str) -> str:
    return "Names of a run without a prefix" if group == "evaluation" else f"{group.upper()}_* of a run"


def _section(heading: str, group: type, settings: Iterable[Setting]) -> str:
    return f"## {heading}\n\n{group.__doc__}\n\n{_settings_table(settings)}"


def _settings_table(settings: Iterable[Setting]) -> str:
    rows = [
        (
            f"`{setting.name}`",
            value_in_words(setting.info.default),
            allowed(setting),
            " ".join(setting.description.split()),
        )
        for setting in settings
    ]
    return _markdown_table(("name", "default", "allowed", "what it does"), rows)


def _profiles() -> Iterator[str]:
    for name, profile in PROFILES.items():
        yield f"### `{name}`\n\n{profile.about}\n"
        if profile.differences:
            rows = [
                (f"`{setting}`", value_in_words(RUN_SETTINGS[setting].info.default), value, reason)
                for setting, (value, reason) in profile.differences.items()
            ]
            yield _markdown_table(("name", "paper", name, "why"), rows)


def _original_names() -> str:
    rows = [
        *(
            (f"`{name}`", f"refused, except {' or '.join(values[:2])}", note)
            for name, (values, note) in LIMITED.items()
        ),
        *((f"`{name}`", "honoured", f"another name of `{setting}`") for name, setting in ALIASES.items()),
        *((f"`{name}`", "honoured", note) for name, note in OF_COMMANDS.items()),
        *((f"`{name}`", "warned about", note) for name, note in WITHOUT_EFFECT.items()),
    ]
    return _markdown_table(("name", "in ragq", "what it does, or what to use instead"), rows)


def _markdown_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


PAGES: Final = {"commands.md": command_pages, "settings.md": settings_reference, "rest.md": rest_page}


def main() -> None:
    folder = DOCS / "reference"
    folder.mkdir(exist_ok=True)
    for name, text in PAGES.items():
        (folder / name).write_text(text())


if __name__ == "__main__":
    main()
