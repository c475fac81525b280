"""The tables of the command line in a terminal of eighty columns, over the data of the site."""

from collections.abc import Iterator

import pytest

from tests.acceptance.conftest import Install
from tests.acceptance.harness import Installation

#: A terminal that takes no colours, which rich holds to be eighty columns wide.
NARROW = {"TTY_COMPATIBLE": "1", "TERM": "dumb"}

COMMANDS = (
    *("runs", "show r1", "show r2", "show r11", "show r12", "inspect j1", "failures r6", "report r11", "diff r11 r11"),
    *("corpus list", "corpus show default", "preset list", "preset show", "template list", "index list"),
    *("splits list", "vocabulary list", "vocabulary show wardrobe", "tags show r12 --verbose --phrase-ranks"),
    *("config show", "config check", "token list", "query list"),
)


@pytest.fixture(scope="module")
def filled(install: Install, populated_template: str) -> Iterator[Installation]:
    """A populated installation without a worker."""
    with install(populated_template) as installation:
        yield installation


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_cut_off_at_eighty_columns(filled: Installation, command: str) -> None:
    done = filled.ragq(*command.split(), **NARROW)

    too_long = [line for line in done.stdout.splitlines() if len(line.rstrip()) > 80]
    print(done.stdout, done.stderr)
    assert (done.exit_code, "…" in done.stdout, too_long) == (0, False, [])
