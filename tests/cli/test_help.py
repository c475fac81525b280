"""Rules for the help of every command."""

import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cli import ids, submit
from cli.main import cli
from tests.docs.blocks import blocks_of, commands_of, pages

#: Every command by its full name, groups included.
COMMANDS = {"ragq": cli, **{" ".join(("ragq", *names)): command for names, command in commands_of(cli)}}


#: Commands without --json, and why.
NO_RESULT = {
    "ragq down": "stops processes and reports it on stderr",
    "ragq logs": "prints the lines of logs as they are",
    "ragq worker": "runs until it is stopped",
    "ragq api": "runs until it is stopped",
    "ragq mcp": "speaks a protocol",
}


def test_every_command_has_help_with_an_example_described_options_and_json() -> None:
    lacking, without = [], set()
    for typed, command in COMMANDS.items():
        first, _, rest = (command.help or "").partition("\n")
        example = rest.partition("Example:\n")[2].partition("\n")[0]
        if not first.endswith(".") or "ragq " not in example:
            lacking.append(typed)
        options = [param for param in command.params if isinstance(param, click.Option)]
        lacking += [f"{typed} {option.opts[0]}" for option in options if not option.help]
        if not isinstance(command, click.Group) and not any("--json" in option.opts for option in options):
            without.add(typed)

    assert lacking == []
    assert without == set(NO_RESULT)


EXAMPLES = [
    line.strip()
    for typed, command in COMMANDS.items()
    for line in (command.help or "").partition("Example:\n")[2].splitlines()
    if "ragq " in line
]
DOCUMENTED = [line for page in pages() for block in blocks_of(page) for line in block.commands]


def test_every_example_of_the_help_and_of_the_docs_is_a_command_with_its_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Options, choices, numbers and the count of arguments are checked; names and files need not exist."""
    monkeypatch.setattr(click.Path, "convert", lambda _type, value, *_: Path(value))
    monkeypatch.setattr(click.File, "convert", lambda _type, value, *_: value)
    for option in submit.submit.params:
        if option.type.name == "FILE":
            monkeypatch.setattr(option.type, "convert", lambda value, *_: value)
    monkeypatch.setattr(submit, "read_submission_file", lambda *_: ({}, {}))
    monkeypatch.setattr(ids, "_named", lambda *_: 12)

    for line in (*EXAMPLES, *DOCUMENTED):
        for words in _commands_in(line):
            # The option `--version` ends the command.
            with suppress(click.exceptions.Exit):
                parse(cli, words)


def _commands_in(line: str) -> Iterator[list[str]]:
    """The arguments of each `ragq` in a line of a shell, which may redirect it, assign it, or combine several."""
    lexer = shlex.shlex(line.replace("$(", " ").replace(")", " "), posix=True, punctuation_chars="|&><;")
    lexer.whitespace_split = True
    command: list[str] | None = None
    for word in [*lexer, ";"]:
        if set(word) <= set("|&><;"):
            if command is not None:
                yield command
            command = None
        elif command is not None:
            command.append(word)
        elif word == "ragq" or word.endswith("=ragq"):
            command = []


def parse(command: click.Command, words: list[str]) -> None:
    """Parse the words as ragq would, without carrying the command out. Raises click's UsageError."""
    while isinstance(command, click.Group):
        _, child, words = command.resolve_command(click.Context(command, **cli.context_settings), words)
        assert child is not None
        command = child
    command.make_context("ragq", words, **cli.context_settings)


def test_the_help_of_submit_has_each_option_once_under_its_kind() -> None:
    shown = CliRunner().invoke(cli, ["submit", "--help"]).output
    shown = shown[shown.index("Participants:") :]
    sections = [line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    options = [line.split()[0] for line in shown.splitlines() if line.startswith("  --")]

    assert sections == ["Participants:", "Questions:", "Phrases:", "Every run:"]
    assert sorted({*options} - {"--help"}) == sorted(option.opts[0] for option in submit.submit.params)
    assert len(options) == len({*options})
