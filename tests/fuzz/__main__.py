"""Feeds parsers with texts that a coverage-guided fuzzer writes: `make fuzz`, or `python -m tests.fuzz evidence`.

A parser may refuse a text with an error of ragq; any other exception, or a text that takes ten seconds, ends the run.
"""

import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import atheris
import click

with atheris.instrument_imports(include=["stages"], enable_loader_override=False):
    from schemas.errors import RagqError
    from tests.fuzz.converters import CONVERTERS, feed
    from tests.stages.test_hostile_texts import PARSERS

DEFAULT: Final = ("evidence", "scores", "verdict", "expansion", "transcript", "markdown", "work", "front matter")
_LONGEST_TEXT = 4096
#: Converters, which run in processes of their own: their files are changed at random.
_OF_DOCUMENTS: Final = {f"converter of {form}": form for form in CONVERTERS}

#: Texts to begin with, which the fuzzer changes.
SEEDS: Final = (
    '{"no_interest": ["I do not enjoy it"], "sleep": []}',
    '<answer>{"PHQ8_Sleep": {"evidence": "x", "reason": "y", "score": 2}}</answer>',
    "```json\n{'a': [1, 2,], \"b\": True}\n``` and so on",
    '{"decision": "accept", "reason": "fits"}',
    '{"queries": ["a", "b"], "hyde_answer": "c", "intent": "DEFINITION", "entities": ["d"]}',
    "start_time\tstop_time\tspeaker\tvalue\n36.5\t39.6\tEllie\thi i'm ellie\n40.1\t41\tParticipant\t<sync> okay\n",
    "# Title\n\nText. More text!\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## Part\n\n- one\n  - two\n",
    "```sh\nls\n```\n\n![f](f.png)\n\n<!-- c -->\n\nA [link](x) and `code`.\n===\n",
    "title: A work\nauthors: [One, Two]\nyear: 1984\nkeywords:\n  - a\n",
)


@click.command()
@click.argument("parsers", nargs=-1, type=click.Choice([*sorted(PARSERS), *_OF_DOCUMENTS]))
@click.option("--seconds", default=120, show_default=True, help="For each parser.")
@click.option("--here", is_flag=True, hidden=True, help="Feed the only parser, in this process.")
def main(parsers: tuple[str, ...], seconds: int, here: bool) -> None:
    """Feed each parser for some time; without PARSERS those of replies, transcripts and works, and all converters."""
    if here and parsers[0] in _OF_DOCUMENTS:
        feed(_OF_DOCUMENTS[parsers[0]], seconds, seed=int(time.time()))
        return
    if here:
        _feed(parsers[0], seconds)
    for parser in parsers or (*DEFAULT, *_OF_DOCUMENTS):
        click.echo(f"{parser}: {seconds} s")
        command = [sys.executable, "-m", "tests.fuzz", parser, "--seconds", str(seconds), "--here"]
        if subprocess.run(command, check=False).returncode != 0:
            raise SystemExit(f"The parser {parser!r} did not hold; the text is in the file that is named above.")


def _feed(name: str, seconds: int) -> None:
    parse = PARSERS[name]

    def one(data: bytes) -> None:
        with suppress(RagqError):
            parse(data.decode(errors="replace"))

    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(SEEDS):
            Path(folder, str(number)).write_text(seed)
        limits = [f"-max_total_time={seconds}", f"-max_len={_LONGEST_TEXT}", "-timeout=10", "-rss_limit_mb=4096"]
        atheris.Setup([sys.argv[0], *limits, "-verbosity=0", "-print_final_stats=1", folder], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
