"""Index runs: the transcripts of a training split, chunked and embedded, published when every job has succeeded."""

from typing import NamedTuple

from celery import Celery

from schemas.chains import stages_of
from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from services.new_runs import PlannedRun, Submitted, submit_run
from stages.participants.artifacts.names import index_name
from stages.participants.splits import TRAINING_SPLITS
from store.database import Connection, Database
from store.references import index_runs, interviews, references
from store.references.references import IndexPlan, StoredIndex
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun


class ReferencesBuild(NamedTuple):
    """A run that builds an index."""

    submitted: Submitted
    published: StoredIndex | None
    """The whole index, when the run has published it already and it is still the current one."""


async def build_references(
    app: Celery,
    database: Database,
    split: str,
    settings: EffectiveSettings,
    *,
    allow_partial: bool = False,
    write_item_tags: bool = True,
    always_new: bool = False,
) -> ReferencesBuild:
    """Submit the run that builds the reference index of a training split, named by EMBEDDING_EMBEDDINGS_FILE.

    A run whose index was replaced is not continued: another one is stored. With `allow_partial`, also for a run that
    exists, participants whose jobs fail are left out of the index. Without `write_item_tags` its chunks have no tags,
    and runs that filter by them are refused.

    Raises Refused for a split that is not a training split or not stored, and for participants without transcript.
    """
    async with database.connection() as connection:
        planned = await _planned(connection, split, settings, allow_partial, write_item_tags)
    submitted = await submit_run(app, database, planned, always_new=always_new)
    async with database.connection() as connection:
        index = await index_runs.by_run(connection, submitted.run_id)
    if index is not None and index.replaced_at is not None:
        submitted = await submit_run(app, database, planned, always_new=True)
        index = None
    if allow_partial:
        async with database.connection() as connection:
            await index_runs.allow_partial(connection, submitted.run_id)
    is_whole = index is not None and index.published_at is not None and index.partial is None
    return ReferencesBuild(submitted, index if is_whole else None)


async def _planned(
    connection: Connection, split: str, settings: EffectiveSettings, allow_partial: bool, write_item_tags: bool
) -> PlannedRun:
    if split not in TRAINING_SPLITS:
        raise Refused(
            f"References come from a training split, so that nobody is tested on themselves: "
            f"{' or '.join(TRAINING_SPLITS)}, not '{split}'."
        )
    name = TRAINING_SPLITS[split]
    hashes = await interviews.split_hashes(connection, name)
    if hashes is None:
        raise Refused(
            f"Split '{split}' is not stored. `ragq import participants DIR` imports the splits of a data set."
        )
    members = await interviews.members(connection, name)
    missing = [str(member.participant_id) for member in members if member.transcript_hash is None]
    if missing:
        raise Refused(
            f"No transcript is stored for participant {', '.join(missing)} of split '{split}'; import the whole data "
            "set with `ragq import participants DIR`."
        )
    embedding = settings.run.embedding
    plan = IndexPlan(
        name=index_name(embedding.embeddings_file),
        split=name,
        split_csv_hash=hashes.csv_hash,
        split_ids_hash=hashes.ids_hash,
        backend=embedding.backend,
        model=settings.run.model.embedding_model,
        dimension=embedding.dimension,
        chunk_size=embedding.chunk_size,
        chunk_step=embedding.chunk_step,
        min_evidence_chars=embedding.min_evidence_chars,
    )
    jobs = [
        NewJob(
            mode="references",
            subject=str(member.participant_id),
            inputs={
                "transcript_hash": member.transcript_hash,
                "write_item_tags": write_item_tags,
                "items": None if member.items is None else {i.evidence_key: s for i, s in member.items.items()},
            },
            stages=stages_of("index", "references"),
        )
        for member in members
    ]

    async def store_plan(connection: Connection, run_id: int) -> None:
        await references.plan(connection, run_id, plan)

    run = NewRun(
        kind="index",
        profile=settings.profile,
        settings=settings.snapshot(),
        # Only what an index depends on: another judge model is no reason to embed again.
        settings_hash=content_hash(vars(plan)),
        request={
            "split": split,
            "index": plan.name,
            "allow_partial": allow_partial,
            "write_item_tags": write_item_tags,
            "profile_source": settings.profile_source,
        },
        jobs=jobs,
    )
    return PlannedRun(run, store_plan)
