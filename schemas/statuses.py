"""The states of jobs, stages, attempts, questions and vectors. Every member documents itself."""

from enum import StrEnum


class JobStatus(StrEnum):
    """The state of a job. A job is in exactly one of these states, so the counts of a run add up to its jobs.

    Those that need attention come first.
    """

    #: A stage raised; nothing runs until a retry.
    FAILED = "failed"
    #: A stage was interrupted too often and is not tried again until the job is retried.
    POISONED = "poisoned"
    #: The worker of a stage died or lost its lease; the stage is due again by itself.
    INTERRUPTED = "interrupted"
    #: A worker has taken a stage, or the next stage follows a stored one.
    RUNNING = "running"
    #: Paused by `ragq pause`; what a worker already computes is still stored.
    PAUSED = "paused"
    #: Stored; no worker has taken its next stage yet.
    WAITING = "waiting"
    #: Ended by `ragq cancel`, with what is computed for it; what was stored stays readable.
    CANCELLED = "cancelled"
    #: Every stage is stored.
    SUCCEEDED = "succeeded"

    @property
    def is_open(self) -> bool:
        """Work is running, or will run by itself."""
        return self in (JobStatus.WAITING, JobStatus.RUNNING, JobStatus.INTERRUPTED)

    @property
    def has_failed(self) -> bool:
        """An error ended it, or too many interruptions."""
        return self in (JobStatus.FAILED, JobStatus.POISONED)


class Priority(StrEnum):
    """Whose turn comes how often where runs wait for the same workers. Indexing comes after other work in any case."""

    #: Somebody waits for it: it starts before other work, and has four turns for each of a normal run.
    INTERACTIVE = "interactive"
    #: Runs take turns, one job each.
    NORMAL = "normal"
    #: One turn for every four of a normal run.
    BULK = "bulk"

    @property
    def weight(self) -> int:
        """Turns, in proportion to those of other runs."""
        return {Priority.INTERACTIVE: 16, Priority.NORMAL: 4, Priority.BULK: 1}[self]


class StageStatus(StrEnum):
    """The state of one stage of a job."""

    #: An earlier stage has to be stored first.
    WAITING = "waiting"
    #: Due: a message for it is, or has to be, in the broker.
    READY = "ready"
    #: A worker holds its lease.
    RUNNING = "running"
    #: Its output is stored.
    DONE = "done"
    #: Its last attempt raised, or it was interrupted too often.
    FAILED = "failed"


class AttemptOutcome(StrEnum):
    """How one try of one stage ended."""

    #: Still computing, or its worker died unnoticed so far.
    RUNNING = "running"
    #: Its output was stored.
    SUCCEEDED = "succeeded"
    #: It raised; the error is in the row.
    FAILED = "failed"
    #: Its lease expired: the worker died, hung or lost the database.
    INTERRUPTED = "interrupted"


class QueryStatus(StrEnum):
    """What a question needs next."""

    #: Its expansion or its vectors are not stored. Where its embedding failed, its `vector_status` is VEC_ERR.
    NEEDS_EMBEDDINGS = "needs_embeddings"
    #: Its vectors are stored, the chunks that its search ends with are not.
    NEEDS_RETRIEVAL = "needs_retrieval"
    #: The chunks are stored, their passages are not.
    NEEDS_CONSOLIDATION = "needs_consolidation"
    #: Everything that an answer is made from is stored.
    READY = "ready"


class VectorStatus(StrEnum):
    """Whether a chunk of a corpus, or a question, has its vectors."""

    #: A heading chunk, which carries its section's lines for consolidation and is never searched. A question whose
    #: expansion is not stored.
    NO_VEC = "no_vec"
    #: A content chunk without a vector. A question whose expansion is stored.
    TO_VEC = "to_vec"
    #: Embedded.
    VEC = "vec"
    #: A question whose embedding failed.
    VEC_ERR = "vec_err"
    #: A table as it is: kept, never embedded. Its words are in chunks of their own.
    TABLE = "tbl"
    #: A figure as it is: likewise.
    FIGURE = "fig"


class WaitReason(StrEnum):
    """Why a server is not called for a stage now."""

    #: As many calls as are permitted at a time are in progress.
    CALLS = "calls"
    #: As many calls as are permitted a minute have begun.
    REQUESTS = "requests"
    #: As many tokens as are permitted a minute are used.
    TOKENS = "tokens"
    #: It answered 429, or 503 with Retry-After.
    REFUSED = "refused"
    #: Its calls are part of a batch, whose answers come later.
    BATCH = "batch"
