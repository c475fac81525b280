"""Index runs: the transcripts of a training split, chunked and embedded, published when every job has succeeded."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from schemas.chains import stages_of
from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from schemas.values.participants import Person, TranscriptVariant
from schemas.values.runs import IndexSource
from services.data_sets import transcripts_of
from services.indexes import current_index, evidence_rule
from services.new_runs import Submitted, submit_run
from stages.participants.chunking import PROMPT_HASH, is_circular, refuse_circular_scoring
from stages.participants.embed import BUILT_WITH, counted_variants
from stages.participants.index_names import built_name, index_name, named_parts
from stages.participants.splits import TEST_SPLITS, TRAINING_SPLITS, named_split, sources, training_name
from stages.participants.transcripts import import_command
from store.database import Connection, Database
from store.references import index_runs, interviews, references
from store.runs import runs
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun


async def build_references(
    database: Database,
    split: str,
    settings: EffectiveSettings,
    *,
    allow_partial: bool = False,
    always_new: bool = False,
) -> Submitted:
    """Submit the run that builds the reference index of a training split, published or of a user's own.

    A run whose index was replaced is not continued: another one is stored. With `allow_partial`, also for a run that
    exists, participants whose jobs fail are left out of the index. Raises Refused for a split that is for testing or
    not stored, and for transcripts that are missing, of several variants, or of another than EMBEDDING_EMBEDDINGS_FILE
    names.
    """
    planned = await database.once(plan_references, split, settings, allow_partial)
    submitted = await submit_run(database, planned, always_new=always_new)
    index = await database.once(index_runs.by_run, submitted.run_id)
    if index is not None and index.replaced_at is not None:
        submitted = await submit_run(database, planned, always_new=True)
    if allow_partial:
        await database.once(runs.allow_partial, submitted.run_id)
    return submitted


async def plan_references(
    connection: Connection, split: str, settings: EffectiveSettings, allow_partial: bool
) -> NewRun:
    """The run that builds the reference index of a training split. Raises as `build_references` does."""
    stored = await interviews.stored_splits(connection)
    of = named_split(stored, split)
    if of.name in TEST_SPLITS:
        known = dict.fromkeys([*TRAINING_SPLITS, *(one.called for one in sources(stored))])
        raise Refused(
            f"References come from a training split, so that nobody is tested on themselves: {' or '.join(known)}, "
            f"not '{split}'."
        )
    data_set, name, split = of.data_set, of.name, training_name(of.name)
    members = [*(await transcripts_of(connection, data_set, of.participant_ids)).values()]
    unlabelled = [member.id for member in members if member.items is None]
    embedding = settings.run.embedding
    variant = _variant(data_set, members, embedding.embeddings_file)
    plan = IndexSource(
        name=built_name(index_name(embedding.embeddings_file), split, variant),
        data_set=data_set,
        split=name,
        split_csv_hash=of.csv_hash,
        split_ids_hash=of.ids_hash,
        variant=variant,
        model=settings.run.model.embedding_model,
        **embedding.model_dump(include={*BUILT_WITH}),
    )
    evidence = evidence_rule(settings.run)
    stages = [stage for stage in stages_of("index", "references") if stage != "extract" or evidence]
    jobs = [
        NewJob(
            mode="references",
            subject=str(member.id),
            inputs={
                "data_set": data_set,
                "transcript_hash": member.transcript_hash,
                "items": member.model_dump(mode="json")["items"],
            },
            stages=tuple(stages),
        )
        for member in members
    ]

    async def store_plan(connection: Connection, run_id: int) -> None:
        await references.plan(connection, run_id, plan, evidence)

    return NewRun(
        kind="index",
        profile=settings.profile,
        settings=settings.snapshot(),
        # Only what an index depends on: another judge model is no reason to embed again.
        settings_hash=content_hash(
            plan.model_dump(mode="json") | {"evidence": evidence, "long_texts": settings.run.ragq.long_texts}
        ),
        request={
            "data_set": data_set,
            "split": split,
            "index": plan.name,
            "allow_partial": allow_partial,
            "variants": {"index": variant.value},
            **({"unlabelled_references": unlabelled} if unlabelled else {}),
            "profile_source": settings.profile_source,
        },
        jobs=jobs,
        effect=store_plan,
    )


def _variant(data_set: str, members: Sequence[Person], embeddings_file: str) -> TranscriptVariant:
    counts = Counter(member.variant for member in members)
    if len(counts) > 1:
        raise Refused(
            f"The transcripts of the split are of several variants: {counted_variants(counts)}. An index is built from "
            f"one: import all of them with `{import_command(data_set, TranscriptVariant.RAW)}`, with --variant for a "
            "cleaned one."
        )
    variant = next(iter(counts), TranscriptVariant.UNKNOWN)
    _, named, _ = named_parts(index_name(embeddings_file))
    if named is not None and variant not in (named, TranscriptVariant.UNKNOWN):
        raise Refused(
            f"EMBEDDING_EMBEDDINGS_FILE={embeddings_file} names transcripts of variant '{named}', and those that are "
            f"stored are of variant '{variant}'. `{import_command(data_set, named)}` imports the named one; "
            "or name the index otherwise with `--set EMBEDDING_EMBEDDINGS_FILE=NAME`."
        )
    return variant


async def plan_chunk_scores(
    connection: Connection,
    name: str,
    settings: EffectiveSettings,
    *,
    scorer_model: str,
    allow_same_model: bool = False,
    limit: int | None = None,
) -> NewRun:
    """The run that scores the chunks of the index of a name; with `limit` only the first so many, which are never
    published. Raises Refused for an unknown index, and when the scorer is MODEL_QUANTITATIVE_MODEL unless that is
    allowed."""
    quantitative_model = settings.run.model.quantitative_model
    refuse_circular_scoring(scorer_model, quantitative_model=quantitative_model, allow_same_model=allow_same_model)
    index = await current_index(connection, index_name(name))
    chunks = await index_runs.chunks(connection, index.id)
    chosen = list(chunks.items())[:limit]
    inputs = {
        "index_id": index.id,
        "scorer_model": scorer_model,
        "prompt_hash": PROMPT_HASH,
        "is_circular": is_circular(scorer_model, quantitative_model=quantitative_model),
    }
    answered_by: dict[str, Any] = {
        "backend": settings.run.llm.backend,
        "max_tokens": settings.run.ragq.chunk_score_max_tokens,
    }
    shown = index.chunk_scores_meta
    if shown is not None and (shown.scorer_model, shown.prompt_hash) != (scorer_model, PROMPT_HASH):
        # Scores that others replaced are published by a new run again, from the ledger.
        answered_by["replaces"] = shown.generated_at
    stages = stages_of("index", "chunk_scores", until=None if len(chosen) == len(chunks) else "score")
    return NewRun(
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
                mode="chunk_scores", subject=str(chunk_id), inputs=inputs | {"chunk_hash": chunk_hash}, stages=stages
            )
            for chunk_id, chunk_hash in chosen
        ],
    )
