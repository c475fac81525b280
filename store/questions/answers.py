"""Prompts with what they are based on, answers as they are evaluated, and the evaluations of them."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from schemas.values.base import Value
from schemas.values.evaluations import EvaluatedAnswer, JudgedAnswer, SplitAnswer
from schemas.values.queries import AugmentedPrompt, ConsolidatedContext, Expansion, Source, ValidatedChunks
from stages.evaluations.labels import Judged
from stages.queries.augment import augment_prompt
from store.corpora import works
from store.database import Connection
from store.questions.presets import StoredTemplate
from store.questions.queries import ANSWERING

BASIS = """
SELECT jsonb_object_agg(f.key, f.value)
FROM current_attempt AS a
CROSS JOIN LATERAL jsonb_each(CASE a.stage
    WHEN 'embed' THEN jsonb_build_object('cut_texts', a.output -> 'cut_texts')
    WHEN 'retrieve' THEN jsonb_build_object('found_chunks', jsonb_array_length(a.output -> 'fused'))
    WHEN 'rerank' THEN jsonb_build_object(
        'ranker', a.output -> 'ranker', 'dropped_chunks', a.output -> 'dropped')
    WHEN 'validate' THEN jsonb_build_object(
        'rejected_chunks',
        jsonb_array_length(jsonb_path_query_array(a.output, '$.verdicts[*] ? (@.decision != "accept")')))
    WHEN 'consolidate' THEN jsonb_build_object(
        'consolidated_count', a.output -> 'consolidated_count', 'dropped_passages', a.output -> 'dropped_short')
END) AS f
WHERE a.job_id = $1 AND a.status = 'done'
  AND a.stage IN ('embed', 'retrieve', 'rerank', 'validate', 'consolidate')
"""

SEARCHED = """
SELECT array_agg(c.name ORDER BY c.id <> q.corpus_id, c.name) AS corpora, min(c.full_text) AS full_text,
       coalesce(j.inputs -> 'works', '{}') AS works
FROM queries AS q JOIN job AS j ON j.id = q.job_id
JOIN corpus AS c ON c.id = q.corpus_id OR c.id = ANY(q.other_corpus_ids)
WHERE q.job_id = $1 GROUP BY q.id, j.id
"""

CUT_CHUNKS = """
SELECT count(*) FROM chunks AS c JOIN works AS w ON w.id = c.work_id JOIN corpus AS k ON k.id = w.corpus_id
WHERE c.id = ANY($1::bigint[]) AND c.tokens > k.reads_tokens
"""


async def with_basis(connection: Connection, job_id: int, prompt: AugmentedPrompt) -> AugmentedPrompt:
    """A prompt that is made from the outputs of a job, with what it is based on by these."""
    found: dict[str, Any] | None = await connection.fetchval(BASIS, job_id)
    searched = await connection.fetchrow(SEARCHED, job_id)
    chunk_ids = [chunk_id for source in prompt.sources for chunk_id in source.chunk_ids]
    cut = {"cut_chunks": await connection.fetchval(CUT_CHUNKS, chunk_ids)}
    return AugmentedPrompt.model_validate(vars(prompt) | (found or {}) | dict(searched) | cut)


PROMPT = f"""
{ANSWERING}
SELECT a.prompt
FROM (
    SELECT a.id, a.output ->> 'prompt' AS prompt
    FROM answering AS j JOIN stage_attempt AS a ON a.job_id = j.id
    WHERE a.stage = 'augment' AND a.outcome = 'succeeded'
) AS a
WHERE left(encode(sha256(convert_to(a.prompt, 'UTF8')), 'hex'), length($2)) = $2
ORDER BY a.id DESC LIMIT 1
"""


async def prompt(connection: Connection, job_id: int, prompt_hash: str) -> str | None:
    """The prompt of this hash among those of a question, by the job that answers it now; None when it is not kept."""
    found: str | None = await connection.fetchval(PROMPT, job_id, prompt_hash)
    return found


async def make_prompt(
    connection: Connection,
    job_id: int,
    question: str,
    expansion: Expansion,
    consolidated: ConsolidatedContext | None,
    validated: ValidatedChunks,
    *,
    template: StoredTemplate,
    top_n: int,
    context_tokens: int | None = None,
    max_answer_tokens: int | None = None,
) -> AugmentedPrompt:
    """As `augment_prompt`, with the headings and titles around the passages as they are stored now, and what it is
    based on by the outputs of its job."""
    groups = consolidated.groups if consolidated else ()
    work_ids = {chunk.work_id for chunk in validated.chunks} | {group.work_id for group in groups}
    made = augment_prompt(
        question,
        expansion,
        consolidated,
        validated.chunks,
        parents=await works.around(connection, [chunk.chunk_id for chunk in validated.chunks]),
        names=await works.names(connection, sorted(work_ids)),
        template=template.template_content,
        template_tag=template.function_tag,
        template_version=template.version,
        top_n=top_n,
        context_tokens=context_tokens,
        max_answer_tokens=max_answer_tokens,
    )
    return await with_basis(connection, job_id, made)


ANSWER = """
SELECT r.id AS result_id, q.job_id, j.subject, r.response_text AS text, r.sources, r.prompt_hash,
       q.original_query AS question, q.reference_answer
FROM job AS j JOIN queries AS q ON q.job_id = j.id JOIN results AS r ON r.query_id = q.id
"""

NEWEST = "j.run_id = $1 AND r.id = (SELECT max(id) FROM results WHERE query_id = q.id) ORDER BY j.ordinal"

SCORED = """
SELECT concat('j', j.id) AS job, j.subject AS query, j.status, (j.inputs ->> 'result_id')::bigint AS result_id,
       (SELECT r.query_id FROM results AS r WHERE r.id = (j.inputs ->> 'result_id')::bigint) AS query_id,
       a.output AS scores
FROM job AS j
LEFT JOIN current_attempt AS a ON a.job_id = j.id AND a.stage = 'consolidate' AND a.status = 'done'
WHERE j.run_id = $1 ORDER BY j.ordinal
"""

JUDGED = """
SELECT j.id AS job_id, s.output AS split, g.output AS judged
FROM job AS j
JOIN current_attempt AS s ON s.job_id = j.id AND s.stage = 'split' AND s.status = 'done'
JOIN current_attempt AS g ON g.job_id = j.id AND g.stage = 'judge' AND g.status = 'done'
WHERE j.run_id = $1 ORDER BY j.ordinal
"""

EVALUATIONS = "SELECT id FROM run WHERE kind = 'evaluation' AND request ->> 'evaluates' = $1::text ORDER BY id"


class StoredAnswer(Value):
    """An answer with what it is judged by."""

    result_id: int
    job_id: int
    """The job that answers the question now."""
    subject: str
    text: str = Field(repr=False)
    sources: tuple[Source, ...]
    prompt_hash: str
    question: str = Field(repr=False)
    reference_answer: str | None = Field(repr=False)


async def newest(connection: Connection, run_id: int) -> list[StoredAnswer]:
    """The newest answer of each question of a run, in the order of the run."""
    return [StoredAnswer(**row) for row in await connection.fetch(f"{ANSWER} WHERE {NEWEST}", run_id)]


async def answer(connection: Connection, result_id: int) -> StoredAnswer | None:
    """One answer; None when it is gone."""
    row = await connection.fetchrow(f"{ANSWER} WHERE r.id = $1", result_id)
    return None if row is None else StoredAnswer(**dict(row))


async def scored(connection: Connection, run_id: int) -> list[EvaluatedAnswer]:
    """The answers of a run of evaluations, in its order."""
    return [EvaluatedAnswer(**row) for row in await connection.fetch(SCORED, run_id)]


async def judged(connection: Connection, run_id: int) -> list[Judged]:
    """The judged answers of a run of evaluations, in its order."""
    return [
        (row["job_id"], SplitAnswer.model_validate(row["split"]), JudgedAnswer.model_validate(row["judged"]))
        for row in await connection.fetch(JUDGED, run_id)
    ]


async def evaluations(connection: Connection, run_id: int) -> Sequence[int]:
    """The runs that evaluate the answers of a run, oldest first."""
    return [row["id"] for row in await connection.fetch(EVALUATIONS, str(run_id))]
