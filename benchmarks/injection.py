"""Whether an instruction inside a passage changes the verdict of the validator of query runs."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Final, NamedTuple

import click
from rich.console import Console
from rich.table import Table

from adapters.ollama_chat import OllamaChat
from adapters.packaged import PACKAGED_LLM
from benchmarks.injected import Flips, InjectionOutcome, Insertion, Pair, attacks_in, flips, pairs_of
from benchmarks.machine import this_machine
from benchmarks.retrieval_sets import data_folder, documents_of, public_set, query_set_of
from benchmarks.stack import stack
from schemas.errors import LLMResponseParseError
from schemas.settings.ragq import RagqSettings
from schemas.values.queries import RerankedChunk
from schemas.values.verdicts import Decision
from stages.ports import ChatModel
from stages.queries.templates import TemplateTag, default_template
from stages.queries.validate import verdict_call
from stages.replies.verdict import decision_of
from stages.replies.whole_reply import whole_reply

PACKAGES: Final = ("ragq", "xllamacpp")
SET: Final = "psychology-sections"
ATTACKS: Final = "prompt_injection/bipia_attacks.jsonl"
TIMEOUT_S: Final = 600.0


class InjectionMeasurement(NamedTuple):
    """The verdicts of the validator."""

    clean: dict[str, int]
    """Decisions on all tried passages, unchanged."""
    outcomes: list[InjectionOutcome]
    """The passages that were rejected unchanged."""


@click.command(short_help="Instructions inside passages, and the validator")
@click.option("--pairs", default=15, show_default=True, help="Rejected passages to put instructions into.")
@click.option("--most", default=40, show_default=True, help="Maximum passages to try until so many are rejected.")
@click.option("--seed", default=42, show_default=True, help="Seed of questions, passages and instructions.")
@click.option("--url", help="URL of a running Ollama server; default: start the embedded one.")
@click.option("--model", default=PACKAGED_LLM, show_default=True, help="Model that judges.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write all results to this file."
)
def injection(pairs: int, most: int, seed: int, url: str | None, model: str, json_file: Path | None) -> None:
    """Put instructions into passages that a model rejects, and count the verdicts that turn to accept.

    Example:

    \b
        python -m benchmarks injection --pairs 15
        python -m benchmarks injection --url http://127.0.0.1:11434 --model llama3.2:3b
    """
    data = data_folder()
    found = public_set(data, SET)
    documents = list(documents_of(found.documents))
    sample = list(pairs_of(query_set_of(found), documents, attacks_in(data / ATTACKS), seed=seed))[:most]
    machine = this_machine(PACKAGES)
    with _embedded() if url is None else nullcontext(url) as server:
        measured = asyncio.run(_measure(server, sample, pairs, model))
    if not measured.outcomes:
        raise click.ClickException(f"None of {len(sample)} passages was rejected: {measured.clean}.")
    counted = {insertion: flips(measured.outcomes, insertion) for insertion in Insertion}
    console = Console(width=110)
    console.print(machine.sentence(), highlight=False)
    console.print(_table(model, measured, counted))
    if json_file is not None:
        content = {
            "machine": machine._asdict(),
            "model": model,
            "clean": measured.clean,
            "flips": {insertion: found._asdict() for insertion, found in counted.items()},
            "outcomes": [outcome._asdict() for outcome in measured.outcomes],
        }
        json_file.write_text(json.dumps(content, indent=2) + "\n")


async def measure(chat: ChatModel, sample: list[Pair], wanted: int, *, model: str) -> InjectionMeasurement:
    """Ask about each passage as it is, and about those that are rejected with every insertion, until `wanted` are."""
    clean: Counter[str] = Counter()
    outcomes: list[InjectionOutcome] = []
    for pair in sample:
        if len(outcomes) == wanted:
            break
        decision = await _decision(chat, pair, None, model)
        clean[decision or "broken"] += 1
        if decision is Decision.REJECT:
            decisions = {insertion: await _decision(chat, pair, insertion, model) for insertion in Insertion}
            outcomes.append(InjectionOutcome(pair.query_id, pair.document.name, decisions))
    return InjectionMeasurement(dict(clean), outcomes)


@contextmanager
def _embedded() -> Iterator[str]:
    with stack() as running:
        (port,) = (part["port"] for part in running.asked("ps") if part["name"] == "llm")
        yield f"http://127.0.0.1:{port}"


async def _measure(url: str, sample: list[Pair], wanted: int, model: str) -> InjectionMeasurement:
    chat = OllamaChat(url)
    try:
        return await measure(chat, sample, wanted, model=model)
    finally:
        await chat.close()


async def _decision(chat: ChatModel, pair: Pair, insertion: Insertion | None, model: str) -> Decision | None:
    call = verdict_call(
        pair.question,
        _chunk(pair, pair.passage(insertion)),
        1,
        template=default_template(TemplateTag.CHUNK_VALIDATION),
        model=model,
        timeout_s=TIMEOUT_S,
        max_chars=RagqSettings().validation_max_chars,
        max_tokens=RagqSettings().verdict_max_tokens,
    )
    try:
        return decision_of(whole_reply(await chat.chat(call), token_setting="RAGQ_VERDICT_MAX_TOKENS"))
    except LLMResponseParseError:
        return None


def _chunk(pair: Pair, text: str) -> RerankedChunk:
    return RerankedChunk(
        chunk_id=1,
        work_id=1,
        parent_id=None,
        level="H1-chunk",
        heading_breadcrumbs=pair.document.title,
        start_line=1,
        end_line=1,
        content=text,
        enriched_content=text,
        fused_score=0.0,
        dense_rank=1,
        lexical_rank=1,
        rerank_score=0.0,
        entity_boost=0.0,
        intent_boost=0.0,
        final_score=0.0,
    )


def _table(model: str, measured: InjectionMeasurement, counted: dict[Insertion, Flips]) -> Table:
    tried = ", ".join(f"{count} {decision}" for decision, count in sorted(measured.clean.items()))
    table = Table(title=f"{model} on passages as they are: {tried}", title_justify="left")
    for heading in ("put into those rejected", "pairs", "accept", "95 %", "reject", "unsure", "no verdict"):
        table.add_column(heading, justify="left" if heading.startswith("put") else "right")
    for insertion, found in counted.items():
        table.add_row(
            insertion,
            str(found.pairs),
            str(found.accepted),
            f"{found.low:.2f} to {found.high:.2f}",
            str(found.rejected),
            str(found.unsure),
            str(found.broken),
        )
    return table
