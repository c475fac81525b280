"""An import: its time, the memory of the stack over several, and a question that is asked meanwhile."""

import json
import time
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import click
from rich.console import Console

from benchmarks.machine import this_machine
from benchmarks.retrieval_sets import data_folder, documents_of
from benchmarks.stack import Memory, Stack, stack

PACKAGES: Final = ("ragq", "torch", "sentence-transformers")
_QUESTION: Final = ("--no-expand", "--until", "consolidate", "--corpus", "asked")


class Import(NamedTuple):
    """One import."""

    chunks: int
    import_s: float
    """From the command to the last chunk that can be found."""
    peak_mb: float
    """Of the whole stack; what processes share counts once."""
    parts_mb: dict[str, float]
    """Of each part at that moment."""


@click.command(short_help="Imports: time, memory over several, and a question that is asked meanwhile")
@click.option("--documents", default=1000, show_default=True, help="Abstracts of SciFact in each import.")
@click.option("--times", default=3, show_default=True, help="Imports, each of other texts.")
@click.option("--questions", default=5, show_default=True, help="Questions, idle and during an import.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write every number there.")
def imports(documents: int, times: int, questions: int, json_file: Path | None) -> None:
    """Import into a stack of its own. No text is imported twice: each import changes the first word of all.

    \b
    Example:
        python -m benchmarks imports --documents 5000 --times 10
    """
    machine, texts = this_machine(PACKAGES), [*documents_of(data_folder() / "scifact/corpus.jsonl")][:documents]
    with stack() as running:
        _write(running.folder / "asked", [document.markdown for document in texts[:50]], "Asked")
        running.ragq("import", "works", str(running.folder / "asked"), "--corpus", "asked", "--wait")
        idle = [_ask(running, f"Which cells are idle {number}?") for number in range(questions)]
        done, busy = [], []
        for number in range(times):
            _write(running.folder / f"c{number}", [document.markdown for document in texts], f"Time{number}")
            began = time.monotonic()
            with Memory(running) as memory:
                run = running.asked("import", "works", str(running.folder / f"c{number}"), "--corpus", f"c{number}")
                if not number:
                    busy = [_ask(running, f"Which cells are busy {at}?") for at in range(questions)]
                running.ragq("watch", run["run"])
            done.append(Import(run["waiting"], time.monotonic() - began, memory.peak_mb, memory.parts_mb))
    console = Console(width=110)
    console.print(machine.sentence(), highlight=False)
    console.print(
        f"a question: idle {median(idle):.2f} s, during an import {median(busy):.2f} s, "
        f"{median(busy) / median(idle):.2f} x",
        highlight=False,
    )
    for one in done:
        console.print(
            f"{one.chunks} chunks in {one.import_s:.0f} s ({one.chunks / one.import_s:.1f} a second), peak "
            f"{one.peak_mb:.0f} MB: {', '.join(f'{part} {size:.0f}' for part, size in one.parts_mb.items())}",
            highlight=False,
        )
    if json_file is not None:
        found = {"idle_s": idle, "busy_s": busy, "imports": [one._asdict() for one in done]}
        json_file.write_text(json.dumps({"machine": machine._asdict(), **found}, indent=2) + "\n")


def _write(folder: Path, texts: list[str], word: str) -> None:
    folder.mkdir()
    for number, text in enumerate(texts):
        heading, _, rest = text.partition("\n\n")
        (folder / f"{number}.md").write_text(f"{heading}\n\n{word} {rest}", encoding="utf-8")


def _ask(running: Stack, question: str) -> float:
    """Seconds from the submission of a question to the end of its last stage."""
    run = running.asked("show", running.ran("--query", question, *_QUESTION))["overview"]
    began, ended = (datetime.fromisoformat(run[at]) for at in ("created_at", "finished_at"))
    return (ended - began).total_seconds()
