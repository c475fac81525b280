"""The scores that a training split gives without any transcript, kept with each run that they are shown beside."""

from collections.abc import Collection, Mapping
from typing import Any

from stages.participants.score_reply import baseline_record
from stages.participants.split_names import sources, training_name
from store.database import Connection
from store.references import interviews
from store.references.references import StoredIndex


def of_index(index: StoredIndex, labels: Collection[Mapping[str, Any] | None]) -> dict[str, Any]:
    """Part of a run's request: the baseline of labels that a reference index has; empty without labels."""
    record = baseline_record(training_name(index.split), labels)
    return {} if record is None else {"baseline": record}


async def of_first_split(connection: Connection, data_set: str, *, without: Collection[int]) -> dict[str, Any]:
    """Part of a run's request: the baseline of the likeliest training split of a data set that has none of these."""
    for source in sources(await interviews.stored_splits(connection)):
        if source.data_set != data_set:
            continue
        members = await interviews.members(connection, data_set, source.name)
        if {member.participant_id for member in members} & {*without}:
            continue
        labels = [
            None if one.items is None else {item.evidence_key: score for item, score in one.items.items()}
            for one in members
        ]
        if (record := baseline_record(source.called, labels)) is not None:
            return {"baseline": record}
    return {}
