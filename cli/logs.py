"""`ragq logs`: the logs of the embedded stack."""

import os
from collections.abc import Sequence

import click

from cli.options import Choice
from cli.output import print_text
from schemas.errors import StackError
from schemas.settings.layers import ENV_FILE, merged
from stack.home import Home, find_home
from stack.logs import followed, last_of
from stack.parts import ORDER, processes_of
from stack.supervision import HEARTBEATS, SUPERVISOR

PARTS = (*ORDER, SUPERVISOR, HEARTBEATS)


@click.command()
@click.argument("part", required=False, type=Choice(PARTS), metavar="[PART]")
@click.option(
    "--lines", type=click.IntRange(min=0), default=20, show_default=True, help="Lines of the end of each log."
)
@click.option("--follow", "-f", is_flag=True, help="Print what is added, until Ctrl-C.")
def logs(part: str | None, lines: int, follow: bool) -> None:
    """Show the end of the logs of the embedded stack: of one part, or of all.

    Parts: postgres, valkey, llm, worker-model, worker-llm, api, flower, supervisor and heartbeats. Logs hold ids and
    counts, no text of a subject. They are kept after `ragq down`.

    \b
    Example:
      ragq logs worker-llm --lines 50
      ragq logs --follow
    """
    home = find_home({**os.environ, **merged(os.environ, ENV_FILE)})
    found = {name: home.log(name) for name in _processes(home, [part] if part else PARTS)}
    written = {name: path for name, path in found.items() if path.exists()}
    if not written and not follow:
        raise StackError(f"There is no log{f' of {part}' if part else ''} in {home.logs}. `ragq up` starts the stack.")
    is_one = len(found) == 1
    for name, path in written.items():
        for line in last_of(path, lines):
            print_text(_line(name, line, is_one=is_one))
    if follow:
        for name, line in followed(found):
            print_text(_line(name, line, is_one=is_one))


def _processes(home: Home, parts: Sequence[str]) -> list[str]:
    """The parts, each with the further processes of it that have a log."""
    count = {part: 1 + len(list(home.logs.glob(f"{part}-[0-9]*.log"))) for part in parts}
    return [name for part in parts for name in processes_of(part, count[part])]


def _line(name: str, line: str, *, is_one: bool) -> str:
    return line if is_one else f"{name:<13} {line}"
