"""An import: its time, the memory of the stack over several, and a question that is asked meanwhile."""

import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Final

import click

from benchmarks.common import Memory, Stack, data_folder, show, show_machine, stack
from benchmarks.retrieval import documents_of

_QUESTION: Final = ("--no-expand", "--until", "consolidate", "--corpus", "asked")


@click.command(short_help="Imports: time, memory over several, and a question that is asked meanwhile")
@click.option("--documents", default=1000, show_default=True, help="Abstracts of SciFact in each import.")
@click.option("--times", default=3, show_default=True, help="Imports, each of other texts.")
@click.option("--questions", default=5, show_default=True, help="Questions, idle and during an import.")
def imports(documents: int, times: int, questions: int) -> None:
    """Import into a stack of its own. No text is imported twice: each import changes the first word of all.

    \b
    Example:
        python -m benchmarks imports --documents 5000 --times 10
    """
    show_machine("torch", "sentence-transformers")
    texts = [*documents_of(data_folder() / "scifact/corpus.jsonl").values()][:documents]
    rows, busy = [], []
    with stack() as running:
        _write(running.folder / "asked", texts[:50], "Asked")
        running.ragq("import", "works", str(running.folder / "asked"), "--corpus", "asked", "--wait")
        idle = [_ask(running, f"Which cells are idle {number}?") for number in range(questions)]
        for number in range(times):
            _write(running.folder / f"c{number}", texts, f"Time{number}")
            began = time.monotonic()
            with Memory(running) as memory:
                run = running.asked("import", "works", str(running.folder / f"c{number}"), "--corpus", f"c{number}")
                if not number:
                    busy = [_ask(running, f"Which cells are busy {at}?") for at in range(questions)]
                running.ragq("watch", run["run"])
            seconds, chunks = time.monotonic() - began, run["waiting"]
            rows.append((number + 1, chunks, f"{seconds:.0f}", f"{chunks / seconds:.1f}", f"{memory.peak_mb:.0f}"))
    click.echo(f"A question: idle {median(idle):.2f} s, during an import {median(busy):.2f} s.")
    show("Imports", ("", "chunks", "s", "chunks/s", "peak MB of the stack"), rows)


def _write(folder: Path, texts: Sequence[str], word: str) -> None:
    folder.mkdir()
    for number, text in enumerate(texts):
        heading, _, rest = text.partition("\n\n")
        (folder / f"{number}.md").write_text(f"{heading}\n\n{word} {rest}", encoding="utf-8")


def _ask(running: Stack, question: str) -> float:
    """Seconds from the submission of a question to the end of its last stage."""
    run = running.asked("show", running.ran("--query", question, *_QUESTION))["run"]
    began, ended = (datetime.fromisoformat(run[at]) for at in ("created_at", "finished_at"))
    return (ended - began).total_seconds()
