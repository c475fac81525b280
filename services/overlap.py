"""People who are in the reference index of a run and are assessed by it: their labels would be its examples."""

from collections.abc import Sequence
from typing import Any

from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from services.assessed import Assessed
from services.indexes import build_command
from stages.participants.artifacts.names import answers_to, built_name, index_name, named_parts
from stages.participants.index_identity import settings_differences
from stages.participants.split_names import TRAINING_SPLITS, sources, stored_name, training_name
from stages.texts.listed import listed
from store.database import Connection
from store.references import interviews, references
from store.references.references import StoredIndex


async def refuse_overlap(
    connection: Connection,
    index: StoredIndex,
    indexed: Sequence[int],
    assessed: Assessed,
    settings: EffectiveSettings,
) -> None:
    """Raise Refused, with who and the remedy, if somebody who is assessed is among those whom the index holds."""
    both = _overlap(indexed, assessed)
    if both:
        raise Refused(
            f"{len(both)} of the {len(indexed)} participants of reference index '{index.name}' "
            f"(split {training_name(index.split)}) are {assessed.where}: {listed(both)}. A run needs references of "
            f"other people. {await _remedies(connection, index, indexed, assessed, settings)}"
        )


def allowed_overlap(index: StoredIndex, indexed: Sequence[int], assessed: Assessed) -> dict[str, Any]:
    """Part of the run's request: who is in both; empty without anybody.

    Raises Refused when the index holds nobody else, because then every prompt would be without references.
    """
    both = _overlap(indexed, assessed)
    if not both:
        return {}
    if len(both) == len(indexed):
        raise Refused(
            f"All {len(indexed)} participants of reference index '{index.name}' are {assessed.where}, and search "
            "leaves them out also with --allow-overlap: no reference is left. Name another index with `--set "
            "EMBEDDING_EMBEDDINGS_FILE=NAME` (`ragq index list`), or submit with --zero-shot-only."
        )
    return {"overlap": {"index": index.name, "participants": both}}


def _without_own(settings: EffectiveSettings, index: StoredIndex) -> str:
    """The name that the settings ask for, without a split of the user's own, which no other name would replace."""
    asked, split = index_name(settings.run.embedding.embeddings_file), training_name(index.split)
    named = named_parts(asked, split)
    return named.rest if named.split == split and split not in TRAINING_SPLITS else asked


def _overlap(indexed: Sequence[int], assessed: Assessed) -> list[int]:
    return sorted({*indexed} & {*assessed.excluded})


async def _remedies(
    connection: Connection,
    index: StoredIndex,
    indexed: Sequence[int],
    assessed: Assessed,
    settings: EffectiveSettings,
) -> str:
    remedies = (
        []
        if len(_overlap(indexed, assessed)) == len(indexed)
        else ["--allow-overlap runs without their chunks, and every report of the run shows it."]
    )
    current = await references.current(connection)
    bare = _without_own(settings, index)
    for split in sources(await interviews.split_names(connection)):
        members = {member.participant_id for member in await interviews.members(connection, stored_name(split))}
        if not members or members & {*assessed.excluded}:
            continue
        name = built_name(bare, split, index.variant)
        choice = f"submit with `--set EMBEDDING_EMBEDDINGS_FILE={name}`"
        named = [other for other in current if answers_to(other.name, name, training_name(other.split))]
        if any(not list(settings_differences(other, settings.run)) for other in named):
            return " ".join([f"The index of split {split} has none of them: {choice}.", *remedies])
        command = build_command(settings, split, EMBEDDING_EMBEDDINGS_FILE=name)
        return " ".join([f"`{command}` builds one of split {split}, which has none of them; then {choice}.", *remedies])
    return " ".join(["No stored training split is without them: submit with --zero-shot-only.", *remedies])
