"""The shell commands of the documentation, and those of ragq."""

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

ROOT: Final = Path(__file__).parents[2]
_BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NEEDS: Final = "# needs "
_UNTIL_CTRL_C: Final = "# until Ctrl-C"
_NONE_FAILED: Final = "exit code 1 if none failed"

_TIMED: Final = """
printf '\\n$ %s\\n' {shown}
began=${{EPOCHREALTIME/./}}
{command}
code=$?
tenths=$(( (${{EPOCHREALTIME/./}} - began) / 100000 ))
printf '# exit code %s after %d.%d s\\n' $code $((tenths / 10)) $((tenths % 10))
[ $code = 0 ] || exit $code
"""
#: 409 is a correct reply to examples such as the pause of a job that has finished.
_CURL: Final = """
curl() {
    local reply=$(command curl --silent --show-error --write-out '\\n%{http_code}' "$@")
    echo "$reply"
    case ${reply##*$'\\n'} in 2*|409) ;; *) return 22 ;; esac
}
"""


@dataclass(frozen=True)
class Block:
    """A block of shell commands of a page."""

    page: Path
    text: str

    @property
    def needs(self) -> str | None:
        """What a test machine does not have; None if the block can be run."""
        first = self.text.partition("\n")[0]
        return first.removeprefix(_NEEDS) if first.startswith(_NEEDS) else None

    @property
    def commands(self) -> list[str]:
        """Its lines without comments, continued ones as one."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line for line in lines if shlex.split(line, comments=True)]


def script(lines: Iterable[str]) -> str:
    """A bash script that prints and runs commands, each with its exit code and time, and stops when one fails.

    `curl` fails for other replies than 2xx and 409.
    """
    return _CURL + "".join(_TIMED.format(shown=shlex.quote(line), command=_accepted(line)) for line in lines)


def _accepted(line: str) -> str:
    if line.endswith(_NONE_FAILED):
        return f"! {line}"
    # 124 is the code of `timeout` for a command that was still running.
    return f"timeout --signal=INT 5 {line}\n[ $? = 124 ]" if line.endswith(_UNTIL_CTRL_C) else line


def pages() -> list[Path]:
    """The README and every page of the docs that is written by hand."""
    written = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "reference")
    return [ROOT / "README.md", *written]


def blocks_of(page: Path) -> list[Block]:
    return [Block(page, text) for text in _BLOCK.findall(page.read_text())]


def commands_of(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command below a group with the words that call it, groups before their commands."""
    context = click.Context(group, **group.context_settings)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*names, name), command
        if isinstance(command, click.Group):
            yield from commands_of(command, *names, name)
