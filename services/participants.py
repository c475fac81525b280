"""Participant runs: who is assessed, in which modes, on which reference index."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import Field

from schemas.chains import stages_of
from schemas.errors import EvidenceSchemaError, Refused
from schemas.settings.profiles import DEMO_MODEL
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import settings_hash
from schemas.suggestions import did_you_mean
from schemas.values.base import Value
from schemas.values.participants import (
    AssessmentMode,
    DataSet,
    Participant,
    PHQ8Item,
    RowIrregularity,
    StoredPerson,
    StoredSplit,
    TranscriptVariant,
)
from schemas.values.requests import ParticipantRequest
from services.few_shot import first_baseline, plan_search
from services.splits import described, find_data_set, find_split, published_splits, stored_otherwise
from stages.participants.extract import quotes_per_item
from stages.participants.splits import PAPER_FILES, PUBLISHED_IDS
from stages.participants.transcripts import import_command
from stages.reports.words import counted
from stages.texts.characters import first_lines
from store.database import Connection
from store.references import interviews
from store.references.interviews import splits_of
from store.runs.runs import NewJob, NewRun

#: The keys of given evidence.
_KEYS = tuple(item.evidence_key for item in PHQ8Item)


async def plan_participants(connection: Connection, request: ParticipantRequest, settings: EffectiveSettings) -> NewRun:
    """The run for a request: one job per participant and mode, participants in the order asked for.

    Raises Refused for an unknown split or participant, a missing transcript, evidence of the wrong shape, or a
    reference index with people of the submitted split; and EmbeddingArtifactMismatchError when that index was built
    with other settings or from another variant of the transcripts.
    """
    if request.references is not None and AssessmentMode.FEW_SHOT not in request.modes:
        raise Refused("Zero-shot jobs search no references: leave --references out, or submit few-shot jobs too.")
    data_set, split, everybody = await _participants(connection, request)
    wanted = everybody[: request.limit]
    transcripts = await _transcripts(connection, data_set, wanted)
    evidence = _checked_evidence(request.evidence, wanted)
    variants = dict(sorted(Counter(transcript.variant for transcript in transcripts.values()).items()))
    excluded = sorted({*everybody})
    if AssessmentMode.FEW_SHOT in request.modes:
        search, record = await plan_search(
            connection,
            settings,
            data_set=data_set,
            split=split,
            excluded=excluded,
            variants=variants,
            allow_overlap=request.allow_overlap,
            named=request.references,
        )
    else:
        search, record = {}, await first_baseline(connection, data_set, without=excluded)
    jobs = [
        NewJob(
            mode=mode,
            subject=str(participant_id),
            inputs={
                "data_set": data_set,
                "transcript_hash": transcript.transcript_hash,
                "transcript_variant": transcript.variant.value,
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


async def _transcripts(connection: Connection, data_set: str, wanted: Sequence[int]) -> dict[int, StoredPerson]:
    known = await interviews.known(connection, data_set)
    missing = [str(participant_id) for participant_id in wanted if participant_id not in known]
    if missing:
        raise Refused(
            f"No transcript is stored for participant {', '.join(missing)} of data set '{data_set}'."
            f"{did_you_mean(missing[0], map(str, known)) if len(missing) == 1 else ''} "
            f"`{import_command(data_set)}` imports transcripts."
        )
    return {participant_id: known[participant_id] for participant_id in wanted}


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
        strange = len(given.keys() - set(_KEYS)) if isinstance(given, dict) else 0
        if strange:
            keys = "1 key" if strange == 1 else f"{strange} keys"
            problems.append(f"participant {participant_id}: {keys} that no item has; items are {', '.join(_KEYS)}")
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

    Raises Refused when that leaves it no mode.
    """
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


#: Fields that an import may add to what is stored, and may not change, with their names.
_LABELS: Final = {"gender": "gender", "phq8_binary": "PHQ8_Binary", "phq8_score": "PHQ8_Score"}

#: Items that are named one by one; more are counted.
_NAMED_ITEMS: Final = 2

LONGEST_NAME: Final = 100
"""Characters of the name of a data set."""


REMEDIES: Final = (
    "--replace puts what is imported in the place of what is stored; --name NAME imports another study beside this "
    "one; --no-splits leaves the splits as they are."
)


class ImportedParticipants(Value):
    """What an import did, or would do: participants by number, with the names of what changes."""

    data_set: str
    dry_run: bool
    participants: int
    """Those in the import."""
    labelled: int
    """Those of them with item labels."""
    variants: dict[TranscriptVariant, int]
    splits: dict[str, int]
    """The participants of each that was imported or made."""
    new: tuple[int, ...]
    unchanged: tuple[int, ...]
    changed: dict[int, tuple[str, ...]]
    """The import adds these to what is stored, such as labels that were not known."""
    conflicting: dict[int, tuple[str, ...]]
    """These are stored otherwise: they are refused, or replaced."""
    unknown: tuple[int, ...]
    """The import has labels of them, and nobody has their transcripts: left out."""
    new_splits: tuple[str, ...]
    unchanged_splits: tuple[str, ...]
    conflicting_splits: dict[str, str]
    """Stored with other participants: the stored ones in words."""
    made_splits: tuple[str, ...] = ()
    """The paper's splits, made because the import has no files of them."""
    patched_items: dict[int, PHQ8Item]
    irregular_rows: dict[int, dict[RowIrregularity, int]]
    stored_variants: dict[TranscriptVariant, int] = Field(default_factory=dict)
    """Those that the data set has now."""
    missing: tuple[int, ...] = Field(default=(), exclude=True)
    """Published participants that are not stored with item labels; nothing is made then."""
    others: tuple[str, ...] = Field(default=(), exclude=True)
    """Paper splits that are stored with other participants, and were left as they are."""

    @property
    def has_conflicts(self) -> bool:
        """Whether something that is stored would be replaced."""
        return bool(self.conflicting or self.conflicting_splits)


async def import_participants(
    connection: Connection,
    name: str,
    data_set: DataSet,
    *,
    with_splits: bool = True,
    replace_stored: bool = False,
    dry_run: bool = False,
) -> ImportedParticipants:
    """Add participants and splits to the data set of a name, all or nothing.

    What is stored and not in the import stays, labels included. Raises Refused, with everything that is stored
    otherwise, unless it may be replaced; a dry run stores nothing and raises nothing.

    Without a paper split among those of the import, the paper's are made when every participant of them is stored with
    item labels, and none of them is stored with other participants. None is imported or made without `with_splits`.
    """
    _refuse_name(name)
    people, labels = data_set.participants, data_set.labels
    splits = [*data_set.splits.values()] if with_splits else []
    async with connection.transaction():
        await interviews.lock(connection, name)
        stored = await interviews.people(connection, name, [*people, *labels])
        of_labels = [stored[one].model_copy(update=dict(labels[one])) for one in labels if one in stored]
        merges = [_merge(stored[one.id], one) for one in (*people.values(), *of_labels) if one.id in stored]
        before = await splits_of(connection, name)
        others = {split.name: described(split) for split in stored_otherwise(splits, before)}
        imported = ImportedParticipants(
            data_set=name,
            dry_run=dry_run,
            participants=len(people),
            labelled=sum(one.items is not None for one in people.values()),
            variants=Counter(one.variant for one in people.values()),
            splits={split.name: len(split.participant_ids) for split in splits},
            new=tuple(one for one in people if one not in stored),
            unchanged=tuple(one.id for one, added, replaced in merges if not (added or replaced)),
            changed={one.id: added for one, added, replaced in merges if added and not replaced},
            conflicting={one.id: replaced for one, _, replaced in merges if replaced},
            unknown=tuple(sorted(one for one in labels if one not in stored)),
            new_splits=tuple(split.name for split in splits if split.name not in before),
            unchanged_splits=tuple(s.name for s in splits if s.name in before and s.name not in others),
            conflicting_splits=others,
            patched_items=data_set.patched,
            irregular_rows={one.id: one.irregular_rows for one in people.values() if one.irregular_rows},
        )
        made: dict[str, Any] = {}
        if not dry_run:
            if imported.has_conflicts and not replace_stored:
                raise Refused(_refusal(imported))
            kept = [people[one] for one in imported.new]
            kept += [one for one, added, replaced in merges if added or replaced]
            await interviews.keep(connection, name, kept, splits)
            if with_splits and not data_set.splits.keys() & PAPER_FILES.keys():
                made = await _make_paper_splits(connection, imported, before)
        made["stored_variants"] = await interviews.variants(connection, name)
        return imported.model_copy(update=made)


async def _make_paper_splits(
    connection: Connection, imported: ImportedParticipants, before: Mapping[str, StoredSplit]
) -> dict[str, Any]:
    """Store the paper's splits where that is possible. Fields of what the import did, with why it was not."""
    known = await interviews.known(connection, imported.data_set)
    if missing := tuple(one for one in PUBLISHED_IDS if one not in known or known[one].items is None):
        return {"missing": missing}
    new = published_splits()
    if unlike := stored_otherwise(new, before):
        return {"others": tuple(split.name for split in unlike)}
    await interviews.keep_splits(connection, imported.data_set, new)
    sizes = {split.name: len(split.participant_ids) for split in new}
    return {"made_splits": tuple(sizes), "splits": imported.splits | sizes}


def _refuse_name(data_set: str) -> None:
    if not data_set.strip() or len(data_set) > LONGEST_NAME or "/" in data_set or not data_set.isprintable():
        raise Refused(
            f"A data set has a name of 1 to {LONGEST_NAME} letters, digits, spaces and signs, without a slash: "
            "name it with --name."
        )


def _merge(before: Participant, new: Participant) -> tuple[Participant, tuple[str, ...], tuple[str, ...]]:
    """A participant after the import, with the names of what it adds, and of what it replaces. What it does not know
    stays."""
    added: list[str] = []
    replaced: list[str] = []
    values: dict[str, Any] = {}
    for field, name in _LABELS.items():
        old, now = getattr(before, field), getattr(new, field)
        values[field] = old if now is None else now
        if now is not None and now != old:
            (added if old is None else replaced).append(name)
    items = before.items if new.items is None else new.items
    if before.items is not None and new.items is not None:
        others = [item.evidence_key for item in PHQ8Item if before.items[item] != new.items[item]]
        replaced += others if len(others) <= _NAMED_ITEMS else [f"{len(others)} item labels"]
    elif new.items is not None:
        added.append("item labels")
    elif before.items is not None and values["phq8_score"] not in (None, sum(before.items.values())):
        # Item labels of another total than that of the import cannot stay beside it.
        items = None
        replaced.append("item labels")
    same_words = (before.transcript_hash, before.utterances) == (new.transcript_hash, new.utterances)
    knows_less = same_words and new.variant is TranscriptVariant.UNKNOWN
    if not same_words:
        replaced.append("transcript")
    elif not knows_less and new.variant is not before.variant:
        is_known = before.variant is not TranscriptVariant.UNKNOWN
        (replaced if is_known else added).append("transcript variant")
    variant = before.variant if knows_less else new.variant
    merged = new.model_copy(update={**values, "items": items, "variant": variant})
    return merged, tuple(added), tuple(replaced)


def _refusal(imported: ImportedParticipants) -> str:
    splits, people = imported.conflicting_splits, imported.conflicting
    found = [f"{split} has other participants in this import" for split in splits.values()]
    found += [f"participant {number}: {', '.join(names)}" for number, names in people.items()]
    stored = " and ".join(
        counted(count, noun) for noun, count in (("split", len(splits)), ("participant", len(people))) if count
    )
    return "\n".join(
        [
            f"Data set '{imported.data_set}' has {stored} stored otherwise; nothing was imported:",
            first_lines(found),
            REMEDIES,
        ]
    )
