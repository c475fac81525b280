"""The shell commands of the documentation."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NEEDS: Final = "# needs "
_OPERATORS: Final = frozenset({"|", "||", "&&", ";", "&"})


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

    def calls(self, program: str) -> Iterator[list[str]]:
        """The arguments of each call of a program, without redirections."""
        for command in self.commands:
            words = shlex.shlex(command, posix=True, punctuation_chars=True)
            words.whitespace_split = True
            call: list[str] = []
            for word in [*words, ";"]:
                if word not in _OPERATORS:
                    call.append(word)
                    continue
                if program in call:
                    yield _without_redirections(call[call.index(program) + 1 :])
                call = []


def _without_redirections(words: list[str]) -> list[str]:
    place = next((place for place, word in enumerate(words) if word in {">", ">>", "<"}), len(words))
    return words[:place]


def pages() -> list[Path]:
    """The README and every page of the docs that is written by hand."""
    written = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "reference")
    return [ROOT / "README.md", *written]


def blocks_of(page: Path) -> list[Block]:
    """The shell blocks of a page in order."""
    return [Block(page, text) for text in _BLOCK.findall(page.read_text())]
