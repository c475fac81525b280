"""What attempts stored: current outputs, and the whole history."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pydantic import Field

from schemas.statuses import AttemptOutcome
from schemas.values.base import Value
from schemas.values.runs import AttemptError
from stages.ports import Vectors
from store import rows
from store.database import Connection, to_matrix, to_numpy
from store.runs import call_costs
from store.runs.call_costs import CallUse
from store.runs.chain import COPIED, MANUAL

OUTPUTS = """
SELECT stage, attempt_id, output, output_hash FROM current_attempt
WHERE job_id = $1 AND stage = ANY($2::text[]) AND status = 'done' AND output IS NOT NULL
"""

# What is private is not even read where it is not asked for.
HISTORY = """
SELECT a.id, a.job_id, a.stage, a.number, a.fence, a.worker_id, a.started_at, a.ended_at, a.outcome, a.inputs,
       CASE WHEN $4 THEN a.output END AS output, a.output_hash, a.previous_hash, a.hash,
       CASE WHEN a.error_type || a.error_message || a.error_category IS NOT NULL THEN jsonb_build_object(
           'type', a.error_type, 'message', a.error_message, 'category', a.error_category,
           'details', CASE WHEN $4 THEN a.error_details END
       ) END AS error,
       w.host, w.pid, extract(epoch FROM coalesce(a.ended_at, now()) - a.started_at)::float8 AS seconds,
       (SELECT count(*) FROM stage_vector AS v WHERE v.attempt_id = a.id) AS vectors
FROM stage_attempt AS a LEFT JOIN worker AS w ON w.id = a.worker_id
WHERE a.job_id = $1 AND ($2::text IS NULL OR a.stage = $2) AND ($3::integer IS NULL OR a.number = $3)
ORDER BY a.id
"""


Stored = TypeVar("Stored", bound=Value)


class Output(NamedTuple):
    """What the current successful attempt of a stage stored."""

    attempt_id: int
    value: dict[str, Any]
    hash: str


class Attempt(Value):
    """One try of one stage."""

    id: int
    job_id: int = Field(examples=[34])
    stage: str = Field(examples=["embed"])
    number: int = Field(examples=[1])
    fence: int
    worker_id: str = Field(examples=["model@host:4711"])
    """`manual` for an output that a person gave."""
    started_at: datetime
    ended_at: datetime | None
    outcome: AttemptOutcome
    inputs: dict[str, Any] | None = Field(examples=[{"expand": "5f0c2a91"}])
    """What it read, by ids and hashes."""
    output: dict[str, Any] | None = Field(repr=False)
    """Its text; null where it was not asked for."""
    output_hash: str | None
    previous_hash: str | None
    hash: str | None
    """The link of the chain that `ragq audit` checks."""
    error: AttemptError | None
    host: str | None
    pid: int | None
    seconds: float = Field(examples=[0.31])
    """Up to now while it runs."""
    vectors: int
    """How many it stored."""
    calls: list[CallUse]
    """Of language models, in order."""

    @property
    def paid(self) -> int:
        """Calls that this attempt paid for."""
        return sum(not call.is_reused for call in self.calls)

    @property
    def reused(self) -> int:
        """Calls that the ledger answered."""
        return len(self.calls) - self.paid

    @property
    def paid_tokens(self) -> tuple[int, int]:
        """Tokens that went in and came out of the paid calls; a server that counts none counts as 0."""
        paid = [call for call in self.calls if not call.is_reused]
        return sum(call.prompt_tokens or 0 for call in paid), sum(call.reply_tokens or 0 for call in paid)


async def output(connection: Connection, job_id: int, stage: str) -> Output | None:
    """The output of a stage that is done; None when it is not, or when the output was purged."""
    return (await outputs(connection, job_id, [stage])).get(stage)


async def outputs(connection: Connection, job_id: int, stages: Sequence[str]) -> dict[str, Output]:
    """The outputs of stages of a job, by stage; those that `output` does not give are absent."""
    return {stage: Output(*found) for stage, *found in await connection.fetch(OUTPUTS, job_id, stages)}


async def stored(connection: Connection, job_id: int, stage: str, of: type[Stored]) -> Stored | None:
    """As `output`, as the value that the stage stores."""
    found = await output(connection, job_id, stage)
    return None if found is None else of.model_validate(found.value)


async def history(
    connection: Connection, job_id: int, stage: str | None = None, *, number: int | None = None, with_texts: bool = True
) -> list[Attempt]:
    """Every attempt of a job (or of one of its stages, or of one number), oldest first, with its calls. Without texts,
    outputs, private details of errors, requests and replies are None."""
    tried = await connection.fetch(HISTORY, job_id, stage, number, with_texts)
    calls = await call_costs.of_attempts(connection, [row["id"] for row in tried], with_texts=with_texts)
    return [Attempt(**row, calls=calls[row["id"]]) for row in tried]


async def vectors(connection: Connection, attempt_id: int) -> Vectors:
    """The vectors of an attempt, one row each in stored order; a matrix of zero rows when it stored none."""
    return to_matrix(await rows.values(connection, "stage_vector", "vector", order="ordinal", attempt_id=attempt_id))


# The oldest, so that every later use of a text has the same bits.
KNOWN_VECTORS = """
SELECT DISTINCT ON (text_key) text_key, vector, is_cut FROM stage_vector
WHERE text_key = ANY($1::bytea[]) AND ($2 OR NOT is_cut)
ORDER BY text_key, attempt_id, ordinal
"""


async def known_vectors(
    connection: Connection, keys: Collection[bytes], *, with_cut: bool
) -> dict[bytes, tuple[Vectors, bool]]:
    """The stored vectors of texts, by key, and whether the model read only a part of the text. Texts without any are
    absent, without `with_cut` those that were cut too."""
    known = await connection.fetch(KNOWN_VECTORS, list(keys), with_cut)
    return {row["text_key"]: (to_numpy(row["vector"]), row["is_cut"]) for row in known}


# A count of the whole table would take seconds where there are hundreds of thousands of attempts, and would shrink when
# a question is deleted. So attempts are counted up to one behind which all are closed, and for good; only those after
# it are read again. What is closed already is not counted, and what is open now will be.
BEGINNING = """
SELECT coalesce(least(
    (SELECT min(attempt_id) FROM current_attempt WHERE status = 'running'),
    (SELECT max(id) + 1 FROM stage_attempt)
), 1) - 1
"""

# A number may be given out a moment before its row can be seen: what ended lately is read again.
SETTLED = """
SELECT coalesce(min(id) FILTER (WHERE ended_at IS NULL OR ended_at > now() - interval '1 minute') - 1, max(id), $1)
FROM stage_attempt WHERE id > $1
"""

# The upper bound of a bucket belongs to it; times are whole microseconds.
SECONDS = """
SELECT stage, outcome, width_bucket(seconds - 0.0000005, $3::float8[]) AS bucket, count(*) AS attempts,
       sum((seconds * 1000000)::bigint)::bigint AS microseconds
FROM (
    SELECT stage, outcome, extract(epoch FROM ended_at - started_at)::float8 AS seconds
    FROM stage_attempt
    WHERE id > $1 AND ($2::bigint IS NULL OR id <= $2) AND ended_at IS NOT NULL AND worker_id <> ALL($4::text[])
) AS a
GROUP BY stage, outcome, bucket
"""

CALLS = """
SELECT c.model, u.is_reused, count(*) AS calls, coalesce(sum(c.prompt_tokens), 0) AS prompt_tokens,
       coalesce(sum(c.reply_tokens), 0) AS reply_tokens
FROM llm_call_use AS u JOIN llm_call AS c ON c.id = u.call_id
WHERE u.attempt_id > $1 AND ($2::bigint IS NULL OR u.attempt_id <= $2)
GROUP BY c.model, u.is_reused
"""


Counts: TypeAlias = Counter[tuple[str, ...]]
"""Numbers by what is counted, and its labels. By stage and outcome `microseconds`, and `attempts` by bucket too: the
first bucket whose bound they do not exceed, or the number of bounds. Of language models `calls`, by model and `hit` or
`miss` of the ledger; `tokens` that were paid for and `tokens_saved`, by model and direction, `prompt` or `reply`."""


class AttemptTotals:
    """Counts from the first reading on; what is reported never decreases. For one reader at a time."""

    def __init__(self, bounds_s: Sequence[float]) -> None:
        self._bounds_s = list(bounds_s)
        self._settled_to: int | None = None
        self._settled: Counts = Counter()
        self._reported: Counts = Counter()

    async def read(self, connection: Connection) -> Counts:
        """Everything since the first reading: attempts that ended, and calls that were answered."""
        if self._settled_to is None:
            self._settled_to = await connection.fetchval(BEGINNING)
        before = self._settled_to
        settled_to = await connection.fetchval(SETTLED, before)
        settled = self._settled + await self._between(connection, before, settled_to)
        recent = await self._between(connection, settled_to, None)
        self._settled_to, self._settled = settled_to, settled
        self._reported = (settled + recent) | self._reported
        return self._reported

    async def _between(self, connection: Connection, after: int, until: int | None) -> Counts:
        found: Counts = Counter()
        for row in await connection.fetch(SECONDS, after, until, self._bounds_s, [MANUAL, COPIED]):
            found["attempts", row["stage"], row["outcome"], str(row["bucket"])] += row["attempts"]
            found["microseconds", row["stage"], row["outcome"]] += row["microseconds"]
        for row in await connection.fetch(CALLS, after, until):
            cache, tokens = ("hit", "tokens_saved") if row["is_reused"] else ("miss", "tokens")
            found["calls", row["model"], cache] += row["calls"]
            found[tokens, row["model"], "prompt"] += row["prompt_tokens"]
            found[tokens, row["model"], "reply"] += row["reply_tokens"]
        return found
