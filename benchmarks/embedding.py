"""The packaged embedder by number format: its speed, and what a search finds with vectors of one format or of two."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any, Final, NamedTuple

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from adapters.packaged import PACKAGED_EMBEDDER, embedder_folder
from adapters.sentence_transformer_encoder import SentenceTransformerEncoder
from benchmarks.machine import this_machine
from benchmarks.retrieval_sets import SETS, data_folder, documents_of, query_set_of
from stages.corpora.blocks import read_markdown
from stages.corpora.cut import cut_work
from stages.metrics.bootstrap import RESAMPLES, SEED
from stages.metrics.query_means import mean_intervals
from stages.metrics.retrieval import measure_rankings
from stages.number_formats import FORMATS
from stages.ports import Vectors
from stages.vectors import unit_rows

PACKAGES: Final = ("ragq", "torch", "sentence-transformers")
BASE: Final = "float32"
_CUTOFF: Final = 10
_PASS_TOKENS: Final = 2048


class EmbeddedSet(NamedTuple):
    """Chunks of documents, and their vectors."""

    documents: list[str]
    """The document of each chunk."""
    vectors: Vectors


@click.command(short_help="The embedder by number format: speed, and quality of search")
@click.option("--texts", default=128, show_default=True, help="Chunks of psychology to encode for the speed.")
@click.option("--turns", default=3, show_default=True, help="Turns of the speed; the best one of each is shown.")
@click.option("--threads", default=1, show_default=True, help="Threads of torch.")
@click.option("--dtype", "dtypes", multiple=True, type=click.Choice(FORMATS), help="Repeatable; float32 and bfloat16.")
@click.option("--set", "names", multiple=True, type=click.Choice(list(SETS)), help="Measure search on it. Repeatable.")
@click.option("--cache", type=click.Path(path_type=Path, file_okay=False), help="Keep vectors of sets in this folder.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write every number there.")
def embedding(
    texts: int,
    turns: int,
    threads: int,
    dtypes: tuple[str, ...],
    names: tuple[str, ...],
    cache: Path | None,
    json_file: Path | None,
) -> None:
    """Encode the same chunks by sentence-transformers alone and by ragq, in turn, in each number format.

    With --set, nDCG@10 of dense search over a public set, for each format of the chunks and of the questions, and for
    an index of which every second chunk has another format; with the paired difference to float32 alone.

    \b
    Example:
        python -m benchmarks embedding --threads 2
        python -m benchmarks embedding --texts 0 --set psychology-sections --set scifact --cache vectors
    """
    data, asked = data_folder(), dtypes or (BASE, "bfloat16")
    console, machine = Console(width=110), this_machine(PACKAGES)
    console.print(machine.sentence(), highlight=False)
    speeds = _speeds(_chunks(data, "psychology/sections.jsonl")[1][:texts], asked, threads, turns) if texts else {}
    if speeds:
        console.print(_speed_table(speeds))
    found = {}
    for name in names:
        vectors = {dtype: _vectors(data, name, dtype, threads, cache) for dtype in asked}
        found[name] = compared(vectors, query_set_of(data, name))
        console.print(_quality_table(name, found[name]))
    if json_file is not None:
        content = {"machine": machine._asdict(), "speeds": speeds, "sets": found}
        json_file.write_text(json.dumps(content, indent=2) + "\n")


def compared(vectors: Mapping[str, tuple[EmbeddedSet, Vectors]], queries: Any) -> dict[str, dict[str, float]]:
    """nDCG@10 by formats of index and questions, with the difference to BASE alone and its 95 % interval."""
    relevance: dict[str, dict[str, int]] = {}
    for judgement in queries.judgements:
        relevance.setdefault(judgement.query_id, {})[judgement.document] = judgement.relevance
    judged = [
        (place, query.external_id)
        for place, query in enumerate(queries.queries)
        if max(relevance.get(query.external_id, {"": 0}).values()) > 0
    ]

    def each(index: EmbeddedSet, asked: Vectors) -> list[float]:
        scores = asked @ index.vectors.T
        rankings = {query: _best(scores[place], index.documents) for place, query in judged}
        measured = measure_rankings(rankings, relevance, cutoff=_CUTOFF)
        return [measured[query]["ndcg@10"] for _, query in judged]

    base = each(*vectors[BASE])
    indexes = {dtype: index for dtype, (index, _) in vectors.items()}
    for dtype in [name for name in vectors if name != BASE]:
        half = indexes[BASE].vectors.copy()
        half[::2] = indexes[dtype].vectors[::2]
        indexes[f"{BASE} and {dtype}"] = indexes[BASE]._replace(vectors=half)
    found = {}
    for (made, index), (dtype, (_, asked)) in product(indexes.items(), vectors.items()):
        values = each(index, asked)
        (delta,) = mean_intervals(
            [[value - other] for value, other in zip(values, base, strict=True)],
            columns=1,
            resamples=RESAMPLES,
            seed=SEED,
        )
        found[f"{made} / {dtype}"] = {
            "ndcg@10": mean(values),
            "difference": delta.value or 0.0,
            "low": delta.low or 0.0,
            "high": delta.high or 0.0,
        }
    return found


def _best(scores: Vectors, documents: Sequence[str]) -> list[str]:
    ranked = dict.fromkeys(documents[place] for place in np.argsort(-scores, kind="stable")[: 100 * _CUTOFF])
    return list(ranked)[:_CUTOFF]


def _chunks(data: Path, file: str) -> tuple[list[str], list[str]]:
    """The document and the embedded text of each chunk that is searched."""
    documents, texts = [], []
    for document in documents_of(data / file):
        title = " ".join(document.title.split())
        for chunk in cut_work(read_markdown(document.markdown), title=title):
            if chunk.vector_status == "to_vec":
                documents.append(document.name)
                texts.append(
                    f"{chunk.heading_breadcrumbs}\n{chunk.content}" if chunk.heading_breadcrumbs else chunk.content
                )
    return documents, texts


def _vectors(data: Path, name: str, dtype: str, threads: int, cache: Path | None) -> tuple[EmbeddedSet, Vectors]:
    documents, texts = _chunks(data, SETS[name].documents)
    encoder = SentenceTransformerEncoder(PACKAGED_EMBEDDER, dtype=dtype, threads=threads, batch_size=8)
    asked = [query.text for query in query_set_of(data, name).queries]
    of_documents = Path(SETS[name].documents).parent.name
    return (
        EmbeddedSet(documents, _kept(cache, f"d-{of_documents}-{dtype}", partial(encoder.encode, texts))),
        _kept(cache, f"q-{name}-{dtype}", partial(encoder.encode, asked)),
    )


def _kept(cache: Path | None, name: str, compute: Callable[[], Vectors]) -> Vectors:
    file = None if cache is None else cache / f"{name}.npy"
    if file is not None and file.exists():
        rows: Vectors = np.load(file)
    else:
        rows = compute()
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, rows)
    return unit_rows(rows, rows=len(rows))


def _speeds(texts: Sequence[str], dtypes: Sequence[str], threads: int, turns: int) -> dict[str, dict[str, float]]:
    """Texts a second, and a second of processor time, which other work on the machine changes less."""
    import torch
    from sentence_transformers import SentenceTransformer

    contestants: dict[str, Callable[[], object]] = {}
    for dtype in dtypes:
        bare = SentenceTransformer(
            str(embedder_folder()), local_files_only=True, model_kwargs={"dtype": getattr(torch, dtype)}
        )
        ours = SentenceTransformerEncoder(PACKAGED_EMBEDDER, dtype=dtype, threads=threads, batch_size=_PASS_TOKENS)
        contestants[f"{dtype}, sentence-transformers"] = partial(
            bare.encode, list(texts), batch_size=8, convert_to_tensor=True
        )
        contestants[f"{dtype}, ragq"] = partial(_as_the_batcher, ours, texts)
    torch.set_num_threads(threads)
    found = {name: {"per_s": 0.0, "per_cpu_s": 0.0} for name in contestants}
    for _ in range(turns):
        for name, encode in contestants.items():
            began, busy = time.perf_counter(), time.process_time()
            encode()
            rates = {
                "per_s": len(texts) / (time.perf_counter() - began),
                "per_cpu_s": len(texts) / (time.process_time() - busy),
            }
            found[name] = {rate: max(found[name][rate], value) for rate, value in rates.items()}
    return found


def _as_the_batcher(encoder: SentenceTransformerEncoder, texts: Sequence[str]) -> None:
    """Count, sort by length, and encode in passes, as the worker does."""
    ordered = sorted(zip(encoder.count_whole_tokens(texts), texts, strict=True))
    size = max(1, _PASS_TOKENS // (encoder.max_tokens or _PASS_TOKENS))
    for start in range(0, len(ordered), size):
        encoder.encode([text for _, text in ordered[start : start + size]])


def _speed_table(speeds: Mapping[str, Mapping[str, float]]) -> Table:
    table = Table(title="Texts a second, the best turn", title_justify="left")
    for heading in ("encoder", "wall", "processor"):
        table.add_column(heading, justify="left" if heading == "encoder" else "right")
    for name, rates in speeds.items():
        table.add_row(name, f"{rates['per_s']:.1f}", f"{rates['per_cpu_s']:.1f}")
    return table


def _quality_table(name: str, found: Mapping[str, Mapping[str, float]]) -> Table:
    table = Table(title=f"{name}: dense search", title_justify="left")
    for heading in ("index / questions", "nDCG@10", "difference", "95 %"):
        table.add_column(heading, justify="left" if heading.startswith("index") else "right")
    for formats, values in found.items():
        table.add_row(
            formats,
            f"{values['ndcg@10']:.4f}",
            f"{values['difference']:+.4f}",
            f"{values['low']:+.4f} to {values['high']:+.4f}",
        )
    return table
