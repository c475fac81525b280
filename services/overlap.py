"""People who are in the reference index of a run and are assessed by it: their labels would be its examples."""

import shlex
from collections.abc import Sequence
from typing import Any

from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from services.assessed import Assessed
from services.indexes import build_command, sources_without
from stages.participants.index_identity import settings_differences
from stages.texts.listed import listed
from store.database import Connection
from store.references import interviews, references
from store.references.references import StoredIndex


async def refuse_overlap(
    connection: Connection,
    index: StoredIndex,
    indexed: Sequence[int],
    both: Sequence[int],
    assessed: Assessed,
    settings: EffectiveSettings,
) -> None:
    """Raise Refused, with who and the remedy, if `both`, who are assessed, are among those whom the index holds."""
    if both:
        raise Refused(
            f"{len(both)} of the {len(indexed)} participants of reference index '{index.name}' "
            f"(split {index.source}) are {assessed.where}: {listed(both)}. A run needs references of "
            f"other people. {await _remedies(connection, assessed, settings, some_are_left=len(both) < len(indexed))}"
        )


def allowed_overlap(
    index: StoredIndex, indexed: Sequence[int], both: Sequence[int], assessed: Assessed
) -> dict[str, Any]:
    """Part of the run's request: who is in both; empty without anybody.

    Raises Refused when the index holds nobody else, because then every prompt would be without references.
    """
    if not both:
        return {}
    if len(both) == len(indexed):
        raise Refused(
            f"All {len(indexed)} participants of reference index '{index.name}' are {assessed.where}, and search "
            "leaves them out also with --allow-overlap: no reference is left. Name another index with `--references "
            "NAME` (`ragq index list`), or submit with --zero-shot-only."
        )
    return {"overlap": {"index": index.name, "participants": list(both)}}


async def _remedies(
    connection: Connection, assessed: Assessed, settings: EffectiveSettings, *, some_are_left: bool
) -> str:
    allow = "--allow-overlap runs without their chunks, and every report of the run shows it."
    remedies = [allow] if some_are_left else []
    stored = [one for one in await interviews.split_addresses(connection) if one.data_set == assessed.data_set]
    indexes = await references.current(connection)
    for source in await sources_without(connection, stored, assessed.excluded):
        choice = f"submit with `--references {shlex.quote(source.called)}`"
        of_split = [one for one in indexes if (one.data_set, one.split) == (source.data_set, source.name)]
        if any(not list(settings_differences(one, settings.run)) for one in of_split):
            return " ".join([f"The index of split {source.called} has none of them: {choice}.", *remedies])
        build = f"`{build_command(settings, source.called)}` builds one of split {source.called}"
        return " ".join([f"{build}, which has none of them; then {choice}.", *remedies])
    return " ".join(["No stored training split is without them: submit with --zero-shot-only.", *remedies])
