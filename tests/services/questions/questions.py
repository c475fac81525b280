"""Questions without a worker, whose stages are completed with outputs of the real shapes."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from schemas.settings.resolve import EffectiveSettings, resolve
from schemas.values.queries import (
    Answer,
    AugmentedPrompt,
    ConsolidatedContext,
    ContextGroup,
    ContextSource,
    EmbeddedQuery,
    Expansion,
    Intent,
    Leg,
    Origin,
    QueryText,
    RerankedChunks,
    RetrievedChunks,
    Source,
    ValidatedChunks,
)
from schemas.values.requests import QueryRequest
from schemas.values.runs import AttemptError
from services.questions.edits import ask
from stages.queries.query_files import single_query
from store.corpora import corpora
from store.database import Connection
from store.questions import queries
from store.questions.queries import StoredQuery
from store.runs import chain as chains
from store.runs import overviews, stages
from store.runs.chain import Flaw
from tests.stages.queries.builders import chunk, ranked_list, reranked
from tests.store.scored import claimed
from tests.store.small_corpora import SearchableChunk, store_corpus

NOTHING_SET: Final[Mapping[str, str]] = MappingProxyType({})
WHOLE = ("expand", "embed", "retrieve", "rerank", "validate", "consolidate", "augment", "generate")

EXPANSION = Expansion(
    origin=Origin.MODEL,
    queries=("tea leaf oxidation", "catechins turn brown"),
    hyde_answer="Oxygen darkens it.",
    intent=Intent.MECHANISM,
    entities=("tea",),
)
EMBEDDED = EmbeddedQuery(
    model="tiny", model_digest="", dimension=2, texts=(QueryText.ORIGINAL, QueryText.MQE, QueryText.MQE, QueryText.HYDE)
)
CONTEXT = ConsolidatedContext(
    original_count=3,
    consolidated_count=3,
    groups=tuple(
        ContextGroup(
            chunk_ids=(place,),
            parent_id=None,
            work_id=1,
            content=f"passage {place}",
            start_line=place,
            end_line=place,
            score=1 / place,
            heading_chain=("Colour",) if place == 2 else (),
            pages=(12, 13) if place == 2 else None,
        )
        for place in (1, 2, 3)
    ),
)
FOUND = RetrievedChunks(
    fusion="zscore",
    lexical="bm25",
    lists=(
        ranked_list(Leg.DENSE, *((n, 1 / n) for n in (1, 2, 3, 4))),
        ranked_list(Leg.DENSE, (2, 0.5), text=QueryText.HYDE),
        ranked_list(Leg.LEXICAL, (3, 2.5)),
    ),
    fused=tuple((n, 1 / n) for n in (1, 2, 3, 4)),
)
VALIDATED = ValidatedChunks(
    validator=None,
    chunks=tuple(
        reranked(
            chunk(n, f"passage {n}", level="H1-chunk", lines=(n, n), breadcrumbs="A work"),
            enriched_content=f"passage {n} with the lines around it",
            **{"fused_score": 1 / n, "dense_rank": n, "rerank_score": 1 / n},
            **{"entity_boost": 0.05, "final_score": 1 / n + 0.05},
        )
        for n in (1, 2, 3)
    ),
    verdicts=(),
)
RERANKED = RerankedChunks(
    ranker="score-fusion", chunks=VALIDATED.chunks, ranking=(1, 2, 3, 4), dropped={"min_chars": 1}, work_hashes={1: "h"}
)
PROMPT = AugmentedPrompt(
    prompt="Answer from sources.",
    template_version=1,
    context_source=ContextSource.CONSOLIDATED,
    available=3,
    shown=1,
    found_chunks=4,
    dropped_chunks={"min_chars": 1},
    ranker="score-fusion",
    consolidated_count=3,
    dropped_passages=0,
    corpora=("small",),
    full_text="english",
    top_n=2,
    sources=(Source(label="S1", work_id=1, title="A work", chunk_ids=(1,), start_line=1, end_line=1),),
)
ANSWER = Answer(
    response_text="By oxygen [S1][S9].",
    origin=Origin.MODEL,
    model="tiny",
    prompt_hash="p",
    cited=("S1",),
    unknown_citations=("S9",),
)
OUTPUTS: dict[str, dict[str, Any]] = {
    stage: output.model_dump(mode="json")
    for stage, output in zip(WHOLE, (EXPANSION, EMBEDDED, FOUND, RERANKED, VALIDATED, CONTEXT, PROMPT), strict=False)
}
VECTORS = np.array([[1, 0], [0, 1], [1, 1], [1, 2]], dtype=np.float32)


def settings(environment: Mapping[str, str] = NOTHING_SET) -> EffectiveSettings:
    return resolve(profile="demo", environment=environment)


def request(text: str = "Why is tea dark?", *, corpora: tuple[str, ...] = ("small",), **wanted: Any) -> QueryRequest:
    return QueryRequest(queries=single_query(text), corpora=corpora, **wanted)


async def store_small_corpus(connection: Connection) -> None:
    await store_corpus(connection, [SearchableChunk(1, "tea", np.ones(2, dtype=np.float32))])


async def a_question(
    connection: Connection,
    /,
    *done: str,
    text: str = "Why is tea dark?",
    environment: Mapping[str, str] = NOTHING_SET,
    **wanted: Any,
) -> StoredQuery:
    """A stored question with these stages completed."""
    if await corpora.find(connection, "small") is None:
        await store_small_corpus(connection)
    query, _ = await ask(connection, request(text, **wanted), settings(environment))
    await complete_stages(connection, query.job_id, *done)
    return query


async def complete_stages(connection: Connection, job_id: int, *names: str) -> None:
    for name in names:
        claim = await claimed(connection, job_id, name)
        output = OUTPUTS.get(name, {"by": name, "attempt": claim.attempt})
        vectors = VECTORS if name == "embed" else None
        committed = await stages.commit(connection, claim, inputs={}, output=output, vectors=vectors)
        assert committed, name


async def try_stage(
    connection: Connection,
    job_id: int,
    stage: str,
    *,
    error: AttemptError | None = None,
    prompt: AugmentedPrompt = PROMPT,
) -> None:
    """An attempt of a worker, which fails by an error or stores an answer to this prompt; none if it is not due."""
    claim = await stages.claim(connection, job_id, stage, "worker", 60)
    if claim is None:
        return
    if error is not None:
        await stages.fail(connection, claim, error, inputs={})
    elif stage == "generate":
        await store_answer(connection, claim, prompt)
    else:
        vectors = VECTORS if stage == "embed" else None
        await stages.commit(connection, claim, inputs={}, output=OUTPUTS[stage], vectors=vectors)


async def store_answer(connection: Connection, claim: stages.Claim, prompt: AugmentedPrompt = PROMPT) -> int:
    """Complete the stage of an answer as a worker does. The answer's number."""
    kept: list[int] = []

    async def keep(connection: Connection) -> None:
        query = await queries.of_job(connection, claim.job_id)
        assert query is not None
        kept.append(await queries.add_result(connection, query, ANSWER, prompt, claim.attempt_id))

    await stages.commit(connection, claim, inputs={}, output=ANSWER.model_dump(mode="json"), effect=keep)
    return kept[0]


async def chain(connection: Connection, job_id: int) -> dict[str, str]:
    """The state of each stage of a job, in order."""
    rows = await connection.fetch("SELECT stage, status FROM stage_run WHERE job_id = $1 ORDER BY position", job_id)
    return {row["stage"]: row["status"] for row in rows}


async def job_status(connection: Connection, job_id: int) -> str:
    status: str = await connection.fetchval("SELECT status FROM job WHERE id = $1", job_id)
    return status


async def flaws(connection: Connection) -> list[Flaw]:
    """The flaws that an audit of every run finds."""
    every = [await chains.audit(connection, run_id) for run_id in await overviews.ids(connection)]
    return [flaw for _, of_run in every for flaw in of_run]
