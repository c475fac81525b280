"""Building the models of a large vocabulary, as `ragq index tags` does it in the worker."""

import csv
import json
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from re import findall
from typing import Final, NamedTuple

import click
from rich.console import Console

from benchmarks import cpu
from benchmarks.machine import this_machine
from benchmarks.retrieval_sets import data_folder, documents_of
from benchmarks.stack import Stack, stack

PACKAGES: Final = ("ragq", "gensim", "torch", "sentence-transformers")
SEED: Final = 7
ALIASED: Final = 1.3
"""Aliases for each tag."""


class Built(NamedTuple):
    """What a vocabulary took to build."""

    tags: int
    aliases: int
    pairs: int
    seconds: float
    """From the submission to the end of the run."""
    cpu_s: float
    """Of the worker, where all models are built."""


@click.command("tags-build", short_help="The time to build the models of 10,000 tags")
@click.option("--tags", "size", default=10_000, show_default=True, help="Tags of the vocabulary.")
@click.option("--pairs", default=150_000, show_default=True, help="Pairs of tags that occur together.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write the result there.")
def tags_build(size: int, pairs: int, json_file: Path | None) -> None:
    """Import a vocabulary of words and pairs of words of SciFact, and build its models.

    \b
    Example:
        python -m benchmarks tags-build --tags 1000 --pairs 10000
    """
    machine = this_machine(PACKAGES)
    texts = [f"{document.title} {document.text}" for document in documents_of(data_folder() / "scifact/corpus.jsonl")]
    with stack() as running:
        found = _measure(running, texts, size, pairs)
    console = Console(width=110)
    console.print(machine.sentence(), highlight=False)
    console.print(
        f"{found.tags} tags, {found.aliases} aliases and {found.pairs} pairs: built in {found.seconds:.0f} s, "
        f"{found.cpu_s:.0f} s of processor time",
        highlight=False,
    )
    if json_file is not None:
        json_file.write_text(json.dumps({"machine": machine._asdict(), **found._asdict()}, indent=2) + "\n")


def _measure(running: Stack, texts: Sequence[str], size: int, pairs: int) -> Built:
    aliases, written = write_vocabulary(running.folder / "words", texts, size=size, pairs=pairs)
    running.ragq("import", "tags", str(running.folder / "words"), "--name", "words")
    (worker,) = (part["pid"] for part in running.asked("ps") if part["name"] == "worker-model")
    began, before = time.perf_counter(), cpu.seconds(worker)
    running.ragq("index", "tags", "words")
    return Built(size, aliases, written, time.perf_counter() - began, cpu.seconds(worker) - before)


def write_vocabulary(folder: Path, texts: Sequence[str], *, size: int, pairs: int) -> tuple[int, int]:
    """A folder for `ragq import tags`: the most frequent words and pairs of neighbours. Its aliases and its pairs."""
    random = Random(SEED)
    words = [findall(r"[a-z][a-z0-9]{2,24}", text.lower()) for text in texts]
    counts = Counter(word for text in words for word in text)
    counts.update(f"{left}_{right}" for text in words for left, right in pairwise(text))
    names = [name for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    tags, others = names[:size], names[size:]
    if len(tags) < size or len(others) < ALIASED * size:
        raise click.UsageError(f"The texts have {len(names)} words and pairs, too few for {size} tags.")
    of_tag: dict[str, list[str]] = {tag: [] for tag in tags}
    for alias in others[: int(ALIASED * size)]:
        of_tag[random.choice(tags)].append(alias)
    folder.mkdir()
    with (folder / "tags.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["name", "category", "count", "aliases"])
        rows.writerows([tag, "word", counts[tag], "|".join(of_tag[tag])] for tag in tags)
    together = Counter(
        pair for text in words for pair in _pairs(sorted({word for word in text if word in of_tag}), random)
    )
    with (folder / "cooccurrence.tsv").open("w", encoding="utf-8") as file:
        kept = together.most_common(pairs)
        file.writelines(f"{left}\t{right}\t{count}\n" for (left, right), count in kept)
    return sum(map(len, of_tag.values())), len(kept)


def _pairs(tags: list[str], random: Random) -> list[tuple[str, str]]:
    """Some pairs of the tags of a text, each in alphabetical order."""
    if len(tags) < 2:
        return []
    drawn = (sorted(random.sample(tags, 2)) for _ in range(len(tags)))
    return [(left, right) for left, right in drawn]
