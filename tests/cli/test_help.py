"""Rules for the help of every command."""

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from cli.main import cli

HEAVY = ("torch", "sentence_transformers", "transformers", "xllamacpp", "adapters")


def commands(command: click.Command, path: tuple[str, ...] = ("ragq",)) -> Iterator[tuple[str, click.Command]]:
    """Every command below one, groups included, by its full name."""
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from commands(child, (*path, name))


COMMANDS = dict(commands(cli))


@pytest.mark.parametrize("typed", COMMANDS)
def test_every_command_has_help_with_an_example(typed: str) -> None:
    words = COMMANDS[typed].help or ""
    first, _, rest = words.partition("\n")
    examples = [line.strip() for line in rest.partition("Example:\n")[2].splitlines()]

    assert first.endswith(".")
    assert examples[0].partition("ragq ")[1], f"{typed} shows no example that can be pasted"


@pytest.mark.parametrize("typed", COMMANDS)
def test_every_option_has_a_description(typed: str) -> None:
    silent = [param.opts[0] for param in COMMANDS[typed].params if isinstance(param, click.Option) and not param.help]

    assert silent == []


@pytest.mark.parametrize("arguments", [["--help"], ["submit", "--help"], ["--version"]], ids=" ".join)
def test_help_loads_no_model(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from cli.main import main\n"
        "try:\n    main()\n"
        f"finally:\n    print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )

    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)

    assert done.stderr == "[]\n"


def test_the_installed_command_prints_its_version() -> None:
    script = Path(sys.executable).with_name("ragq")

    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)

    assert done.stdout == f"ragq, version {version('ragq')}\n"
