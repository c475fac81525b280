"""Chunk score runs: every chunk of a reference index, scored by itself, visible when all of them are done."""

from typing import NamedTuple

from schemas.chains import stages_of
from schemas.settings.resolve import EffectiveSettings
from schemas.statuses import JobStatus
from services.indexes import current_index, fitting_index
from services.new_runs import PlannedRun, Submitted, named_in_errors, submit_run
from stages.participants.artifacts.names import index_name
from stages.participants.chunk_scores import PROMPT_HASH, is_circular, refuse_circular_scoring
from store.database import Connection, Database
from store.references import chunk_scores, interviews
from store.references.references import StoredIndex
from store.runs import overviews
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun


class Scoring(NamedTuple):
    """A run that scores chunks."""

    submitted: Submitted
    chunks: int
    """Chunks of the index."""

    @property
    def is_trial(self) -> bool:
        """Not every chunk is scored, so that nothing is visible afterwards."""
        return self.submitted.jobs < self.chunks


async def score_chunks(
    database: Database,
    name: str | None,
    settings: EffectiveSettings,
    *,
    scorer_model: str,
    allow_same_model: bool = False,
    limit: int | None = None,
    always_new: bool = False,
) -> Scoring:
    """Submit the run that scores the chunks of the index of a name; None is the one that runs of the settings search.

    With `limit` only the first so many chunks are scored, and never published. Raises Refused for an unknown index,
    and when the scorer is MODEL_QUANTITATIVE_MODEL unless that is allowed.
    """
    async with database.connection() as connection:
        run, index, chunks = await plan_chunk_scores(
            connection, name, settings, scorer_model=scorer_model, allow_same_model=allow_same_model, limit=limit
        )
    submitted = await submit_run(database, PlannedRun(run), always_new=always_new)
    scoring = Scoring(submitted, chunks)
    shown = index.chunk_scores_meta or {}
    is_shown = (shown.get("scorer_model"), shown.get("prompt_hash")) == (scorer_model, PROMPT_HASH)
    with named_in_errors([submitted.run_id]):
        if scoring.is_trial or is_shown or not await _has_succeeded(database, submitted.run_id):
            return scoring
        # Other scores replaced these: a new run publishes them again, from the ledger.
        return scoring._replace(submitted=await submit_run(database, PlannedRun(run), always_new=True))


async def plan_chunk_scores(
    connection: Connection,
    name: str | None,
    settings: EffectiveSettings,
    *,
    scorer_model: str,
    allow_same_model: bool = False,
    limit: int | None = None,
) -> tuple[NewRun, StoredIndex, int]:
    """The run that scores chunks, their index, and how many chunks that has. Raises as `score_chunks` does."""
    quantitative_model = settings.run.model.quantitative_model
    refuse_circular_scoring(scorer_model, quantitative_model=quantitative_model, allow_same_model=allow_same_model)
    index = (
        await fitting_index(
            connection,
            settings,
            data_set=None,
            transcripts=await interviews.variants(connection),
            allow_variant_mismatch=True,
            with_sidecars=False,
        )
        if name is None
        else await current_index(connection, index_name(name))
    )
    chunks = await chunk_scores.chunks(connection, index.id)
    chosen = chunks[:limit]
    inputs = {
        "index_id": index.id,
        "scorer_model": scorer_model,
        "prompt_hash": PROMPT_HASH,
        "is_circular": is_circular(scorer_model, quantitative_model=quantitative_model),
    }
    answered_by = {"backend": settings.run.llm.backend, "max_tokens": settings.run.ragq.chunk_score_max_tokens}
    stages = stages_of("index", "chunk_scores", until=None if len(chosen) == len(chunks) else "score")
    run = NewRun(
        kind="index",
        profile=settings.profile,
        settings=settings.snapshot(),
        # Only what the scores depend on: another embedding time-out is no reason to score again.
        settings_hash=content_hash(answered_by | inputs),
        request={
            "index": index.name,
            "scorer_model": scorer_model,
            "allow_same_model": allow_same_model,
            "limit": limit,
            "profile_source": settings.profile_source,
        },
        jobs=[
            NewJob(
                mode="chunk_scores",
                subject=str(chunk.chunk_id),
                inputs=inputs | {"chunk_hash": chunk.chunk_hash},
                stages=stages,
            )
            for chunk in chosen
        ],
    )
    return run, index, len(chunks)


async def _has_succeeded(database: Database, run_id: int) -> bool:
    async with database.connection() as connection:
        found = await overviews.overview(connection, run_id)
    return found is not None and found.states.get(JobStatus.SUCCEEDED) == found.jobs
