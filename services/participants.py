"""Participant runs: who is assessed, in which modes, and on which reference index."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from schemas.chains import stages_of
from schemas.errors import EvidenceSchemaError, Refused
from schemas.settings.base import value_in_words
from schemas.settings.profiles import DEMO_MODEL
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import RUN_SETTINGS, RunSettings, settings_hash
from schemas.values.participants import ITEMS_BY_KEY, AssessmentMode, ChunkScoresMeta, TranscriptVariant
from schemas.values.requests import ParticipantRequest
from services.data_sets import find_data_set, find_split, transcripts_of
from services.indexes import build_command, fitting_index
from stages.participants.artifacts import other_prompt
from stages.participants.chunking import is_circular
from stages.participants.extract import quotes_per_item
from stages.participants.score_reply import baseline_record
from stages.participants.splits import sources, training_name
from stages.participants.transcripts import import_command
from stages.reports.words import counted
from stages.texts.characters import listed
from store.database import Connection
from store.references import index_runs, interviews, references
from store.references.references import StoredIndex
from store.runs.runs import NewJob, NewRun


async def plan_participants(connection: Connection, request: ParticipantRequest, settings: EffectiveSettings) -> NewRun:
    """The run for a request: one job per participant and mode, participants in the order asked for. Raises Refused for
    what the request names and is not stored, evidence of the wrong shape, and an index with people of the submitted
    split; and EmbeddingArtifactMismatchError for an index that does not fit."""
    if request.references is not None and AssessmentMode.FEW_SHOT not in request.modes:
        raise Refused("Zero-shot jobs search no references: leave --references out, or submit few-shot jobs too.")
    data_set, split, everybody = await _participants(connection, request)
    wanted = everybody[: request.limit]
    transcripts = await transcripts_of(connection, data_set, wanted)
    evidence = _checked_evidence(request.evidence, wanted)
    variants = dict(sorted(Counter(transcript.variant for transcript in transcripts.values()).items()))
    excluded = sorted({*everybody})
    if AssessmentMode.FEW_SHOT in request.modes:
        search, record = await _plan_search(connection, request, settings, data_set, split, excluded, variants)
    else:
        search, record = {}, await _first_baseline(connection, data_set, without=excluded)
    jobs = [
        NewJob(
            mode=mode,
            subject=str(participant_id),
            inputs={
                "data_set": data_set,
                "transcript_hash": transcript.transcript_hash,
            }
            | (search if mode is AssessmentMode.FEW_SHOT else {})
            | ({} if evidence is None else {"evidence": evidence[participant_id]}),
            stages=stages_of("participant", mode, until=request.until),
        )
        for participant_id, transcript in transcripts.items()
        for mode in request.modes
    ]
    return NewRun(
        kind="participant",
        profile=settings.profile,
        settings=settings.snapshot(),
        settings_hash=settings_hash(settings.run),
        request={
            "data_set": data_set,
            "split": split,
            "participants": list(request.participants or ()),
            "modes": list(request.modes),
            "limit": request.limit,
            "until": request.until,
            "evidence": None if evidence is None else "given",
            "variants": {"transcripts": variants},
            "profile_source": settings.profile_source,
            "scorer": settings.run.ragq.scorer,
            "demo_model": settings.run.ragq.scorer == "model" and settings.run.model.quantitative_model == DEMO_MODEL,
        }
        | record,
        jobs=jobs,
    )


async def _participants(connection: Connection, request: ParticipantRequest) -> tuple[str, str | None, Sequence[int]]:
    """A data set, the split of it if one is named, and everybody in that or named."""
    if request.split is None:
        named = list(dict.fromkeys(request.participants or ()))
        return await find_data_set(connection, request.data_set, numbers=named), None, named
    split = await find_split(connection, request.split, data_set=request.data_set)
    if not split.participant_ids:
        raise Refused(f"Split '{split.called}' has no participants; import or make it again.")
    return split.data_set, split.name, split.participant_ids


def _checked_evidence(
    evidence: Mapping[str, Any] | None, participants: Sequence[int]
) -> dict[int, dict[str, list[str]]] | None:
    if evidence is None:
        return None
    problems = [f"participant {key} is not part of this run" for key in evidence if key not in map(str, participants)]
    checked: dict[int, dict[str, list[str]]] = {}
    for participant_id in participants:
        if str(participant_id) not in evidence:
            problems.append(f"participant {participant_id} has no entry; give an empty object for no evidence")
            continue
        given = evidence[str(participant_id)]
        strange = len(given.keys() - ITEMS_BY_KEY.keys()) if isinstance(given, dict) else 0
        if strange:
            found = f"{counted(strange, 'key')} that no item has; items are {', '.join(ITEMS_BY_KEY)}"
            problems.append(f"participant {participant_id}: {found}")
        try:
            quotes = quotes_per_item(given)
        except EvidenceSchemaError as error:
            problems += [f"participant {participant_id}: {key}: {what}" for key, what in error.violations.items()]
        else:
            checked[participant_id] = {item.evidence_key: list(texts) for item, texts in quotes.items()}
    if problems:
        raise Refused("The evidence cannot be used:\n" + "\n".join(f"  {problem}" for problem in problems))
    return checked


def in_enabled_modes(request: ParticipantRequest, settings: EffectiveSettings) -> ParticipantRequest:
    """The request, in zero-shot mode alone with ENABLE_FEW_SHOT=false, in few-shot alone with RAGQ_SCORER=neighbours.
    Raises Refused when that leaves it no mode."""
    if settings.run.ragq.scorer == "neighbours":
        if AssessmentMode.FEW_SHOT not in request.modes:
            raise Refused(
                "RAGQ_SCORER=neighbours scores by the participants of a reference index, so it has no zero-shot mode; "
                "reports have the median of the training split beside it. Submit without --zero-shot-only, or with "
                "--set RAGQ_SCORER=model and a language model."
            )
        request = request.model_copy(update={"modes": (AssessmentMode.FEW_SHOT,)})
    if settings.run.evaluation.enable_few_shot:
        return request
    if AssessmentMode.ZERO_SHOT not in request.modes:
        raise Refused(
            f"ENABLE_FEW_SHOT=false ({settings.sources['ENABLE_FEW_SHOT']}) leaves a few-shot submission no mode; "
            "--set ENABLE_FEW_SHOT=true enables it."
        )
    return request.model_copy(update={"modes": (AssessmentMode.ZERO_SHOT,)})


def _overlap(
    index: StoredIndex, indexed: Collection[int], both: Sequence[int], split: str | None, *, is_allowed: bool
) -> dict[str, Any]:
    """Part of the run's request: who of the index is assessed. Raises Refused unless that is allowed, and when the
    index holds nobody else: every prompt would be without references then."""
    if not both:
        return {}
    is_whole = len(both) == len(indexed)
    if is_allowed and not is_whole:
        return {"overlap": {"index": index.name, "participants": list(both)}}
    where = "among the participants of this run" if split is None else f"in split '{split}'"
    allow = "--allow-overlap runs without their chunks, and every report of the run shows it."
    raise Refused(
        f"{len(both)} of the {len(indexed)} participants of reference index '{index.name}' (split {index.source}) are "
        f"{where}: {listed(both)}. A run needs references of other people: name an index without them with "
        "`--references NAME` (`ragq index list`, `ragq index references --split SPLIT --wait`), or submit with "
        f"--zero-shot-only. {'Nobody else is in it: no reference is left.' if is_whole else allow}"
    )


#: What came after the paper's notebook, and changes its references.
_AFTER_THE_NOTEBOOK: Final = (
    "EMBEDDING_MIN_REFERENCE_SIMILARITY",
    "EMBEDDING_MAX_REFERENCE_CHARS_PER_ITEM",
    "EMBEDDING_ENABLE_ITEM_TAG_FILTER",
    "EMBEDDING_REFERENCE_SCORE_SOURCE",
    "EMBEDDING_ENABLE_REFERENCE_VALIDATION",
    "RAGQ_DEDUPLICATE_REFERENCES",
    "RAGQ_RERANKER",
)


def left_parity(profile: str, settings: RunSettings) -> dict[str, Any]:
    """Part of the run's request: the settings by which a few-shot run that is meant to be the notebook's is not. It is
    meant to be that with profile `paper-parity`, or with the notebook's block of references."""
    is_notebook = settings.ragq.prompt_format == "notebook"
    if not is_notebook and profile != "paper-parity":
        return {}
    values = settings.values()
    differing = [name for name in _AFTER_THE_NOTEBOOK if values[name] != RUN_SETTINGS[name].info.default]
    names = differing if is_notebook else ["RAGQ_PROMPT_FORMAT", *differing]
    return {"left_parity": [f"{name}={value_in_words(values[name])}" for name in names]} if names else {}


async def _plan_search(
    connection: Connection,
    request: ParticipantRequest,
    settings: EffectiveSettings,
    data_set: str,
    split: str | None,
    excluded: Sequence[int],
    variants: Mapping[TranscriptVariant, int],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Part of the inputs of every few-shot job, and part of the run's request: what its readers have to know of the
    index.

    `excluded` are all of the split, also beyond its limit, or those that were named; `variants` those of the
    transcripts. Raises as `fitting_index` does, and Refused when the index has people of the split and that is not
    allowed, or nobody of it has scores to be shown.
    """
    named = request.references
    index = await fitting_index(connection, settings, data_set=data_set, transcripts=variants, named=named)
    labels = await references.labels(connection, index.id)
    both = await references.assessed_people(connection, index.id, data_set, excluded)
    inputs: dict[str, Any] = {
        "index_id": index.id,
        "index_data_set": index.data_set,
        "index_model_digest": index.model_digest,
        "excluded": list(excluded) if index.data_set == data_set else both,
    }
    record: dict[str, Any] = {
        "references": named,
        "searched": {"index": index.name, "data_set": index.data_set, "split": training_name(index.split)},
        "variants": {"transcripts": variants, "index": index.variant.value},
    }
    record |= left_parity(settings.profile, settings.run)
    record |= _overlap(index, labels, both, split, is_allowed=request.allow_overlap)
    if index.partial is not None:
        record["left_out_references"] = list(index.partial.skipped_participants)
    searched = {number: items for number, items in labels.items() if number not in inputs["excluded"]}
    if (baseline := baseline_record(training_name(index.split), searched.values())) is not None:
        record["baseline"] = baseline
    if index.run_id is not None and (cut := await index_runs.cut_chunks(connection, index.run_id)):
        record["cut_chunks"] = {"cut": cut, "chunks": index.chunks}
    if settings.run.embedding.reference_score_source == "participant":
        record |= _unlabelled(index, searched, settings)
    else:
        inputs["chunk_scores"] = await index_runs.scored_by(connection, index.id)
        record["chunk_scores"] = _scorer(index.chunk_scores_meta, settings.run)
    return inputs, record


async def _first_baseline(connection: Connection, data_set: str, *, without: Collection[int]) -> dict[str, Any]:
    """Part of a run's request: the baseline of the likeliest training split of a data set that has none of these."""
    people = await interviews.known(connection, data_set)
    for source in sources(await interviews.stored_splits(connection)):
        if source.data_set != data_set or {*source.participant_ids} & {*without}:
            continue
        labels = [people[number].model_dump()["items"] for number in source.participant_ids if number in people]
        if (record := baseline_record(source.called, labels)) is not None:
            return {"baseline": record}
    return {}


def _unlabelled(index: StoredIndex, searched: Mapping[int, Any], settings: EffectiveSettings) -> dict[str, Any]:
    """Part of the run's request: who of the index has no scores to be shown. Raises Refused when nobody has."""
    without = [number for number, items in searched.items() if items is None]
    if without and len(without) == len(searched):
        raise Refused(
            f"Nobody of reference index '{index.name}' has item scores, so no reference could be shown. "
            f"`{import_command(index.data_set)}` imports those of a folder with label files; then "
            f"`{build_command(settings, index.source)}` builds the index with them. Without references: "
            "--zero-shot-only."
        )
    return {"unlabelled_references": without} if without else {}


def _scorer(meta: ChunkScoresMeta | None, settings: RunSettings) -> dict[str, Any]:
    scorer = None if meta is None else meta.scorer_model
    quantitative_model = settings.model.quantitative_model
    return {
        "scorer_model": scorer,
        "is_circular": None if scorer is None else is_circular(scorer, quantitative_model=quantitative_model),
        "other_prompt": meta.prompt_hash if meta is not None and other_prompt(meta) else None,
    }
