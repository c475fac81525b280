"""What messages advise exists: every setting, option and command that a text of the product names."""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click

from ragq.start import PACKAGES
from schemas.settings.process import KNOWN_NAMES
from tests.cli.test_help import COMMANDS

REPOSITORY = Path(__file__).parents[2]

#: Names in texts that are no setting of ragq, by whose they are.
NAMES_OF_OTHERS = {
    "terminals": ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"),
    "libraries for models": ("CUDA_VISIBLE_DEVICES", "HF_HOME", "HF_TOKEN", "TOKENIZERS_PARALLELISM"),
    "OpenMP": ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"),
    "libraries for numbers": ("OPENBLAS_NUM_THREADS", "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "MALLOC_ARENA_MAX"),
    "OpenTelemetry": ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
    "the desktop": ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
    "Flower and Postgres": ("FLOWER_BASIC_AUTH", "PG_VERSION", "SKIP_LOCKED"),
    "replies and arguments": ("NO_CHANGE", "STUDY_DETAIL", "OTHER_RUN", "Q4_K_M"),
    "examples of misspellings": ("LLM_BACKND",),
}
OTHER_NAMES = {name for names in NAMES_OF_OTHERS.values() for name in names}

_NAME = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z]+)+\b(?!\*)")
_ADVICE = re.compile(r"\b(?:raise|lower|increase|reduce|set|unset) `?([a-z]+(?:_[a-z]+)+)")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_COMMAND = re.compile(r"`(ragq [^`]*)`")
_TEMPLATE_CODE = re.compile(r"\{[{%].*?[%}]\}|<style>.*?</style>", re.DOTALL)
_OF_OTHERS = re.compile(r"pip install .*|qpdf [^)]*|text-embeddings-inference: .*|\{ --.* \}")
"""Options of pip and qpdf, and variables of a style sheet."""


class Text(NamedTuple):
    """A string of the source; values that are put into it at run time are `{}`."""

    place: str
    words: str
    is_docstring: bool


@cache
def texts() -> tuple[Text, ...]:
    return tuple(_texts())


def _texts() -> Iterator[Text]:
    for package in (*PACKAGES, "ragq"):
        for path in sorted((REPOSITORY / package).rglob("*.py")):
            yield from texts_of(path)
        for path in sorted((REPOSITORY / package).rglob("*.j2")):
            yield Text(path.name, _TEMPLATE_CODE.sub(_strings, path.read_text("utf-8")), is_docstring=False)


def _strings(code: re.Match[str]) -> str:
    """What a template's code quotes: words that it gives to a macro are shown as well."""
    return " ".join(re.findall(r'"([^"]*)"', code[0]))


def texts_of(path: Path) -> Iterator[Text]:
    tree = ast.parse(path.read_text("utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    parts: set[int] = set()
    for node in ast.walk(tree):
        place = f"{path.relative_to(REPOSITORY)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.JoinedStr):
            parts |= {id(part) for part in node.values}
            words = "".join(
                str(part.value) if isinstance(part, ast.Constant) and isinstance(part.value, str) else "{}"
                for part in node.values
            )
            yield Text(place, words, is_docstring=False)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield Text(place, node.value, id(node) in docstrings)


def options_of(command: click.Command) -> set[str]:
    found = (parameter for parameter in command.params if isinstance(parameter, click.Option))
    return {"--help", *(name for option in found for name in (*option.opts, *option.secondary_opts))}


def test_every_setting_that_a_message_names_exists() -> None:
    unknown = [
        (text.place, name)
        for text in texts()
        if not text.is_docstring
        for name in _NAME.findall(text.words)
        if name not in KNOWN_NAMES and name not in OTHER_NAMES
    ]

    assert unknown == []


def test_no_message_advises_to_set_a_name_of_the_code() -> None:
    advised = [(text.place, name) for text in texts() if not text.is_docstring for name in _ADVICE.findall(text.words)]

    assert advised == []


def test_every_option_that_a_message_names_exists() -> None:
    known = {"--version", *(name for command in COMMANDS.values() for name in options_of(command))}
    unknown = [
        (text.place, name)
        for text in texts()
        if not text.is_docstring and " " in text.words and not text.words.startswith("--")
        for name in _OPTION.findall(_OF_OTHERS.sub("", text.words))
        if name not in known
    ]

    assert unknown == []


def test_every_command_that_a_text_names_exists_with_its_options() -> None:
    wrong = [(text.place, line) for text in texts() for line in _COMMAND.findall(text.words) if not runs(line)]

    assert wrong == []


def runs(line: str) -> bool:
    """Whether a line such as `ragq report RUN --json` names a command and options that there are."""
    path, *words = shlex.split(line.replace("'", "\\'"))
    while words and f"{path} {words[0]}" in COMMANDS:
        path += f" {words.pop(0)}"
    command = COMMANDS[path]
    named = {word.partition("=")[0] for word in words if word.startswith("--")}
    is_whole = path != "ragq" and (not words or not isinstance(command, click.Group))
    return is_whole and named <= options_of(command)
