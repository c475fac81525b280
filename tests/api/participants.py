"""Participants and splits to submit, without a data set."""

from schemas.values.participants import Participant, PHQ8Item
from stages.participants.splits import split_of
from stages.texts.characters import short_hash
from store.database import Connection
from store.references import interviews


async def store_participants(connection: Connection, **splits: tuple[int, ...]) -> None:
    """Store splits by name, `_` for `-`, and everybody in them."""
    made = [split_of(name.replace("_", "-"), ids, data=name.encode()) for name, ids in splits.items()]
    numbers = sorted({number for split in made for number in split.participant_ids})
    people = [
        Participant(
            id=number,
            transcript=f"Participant: i am number {number}",
            transcript_hash=short_hash(str(number)),
            utterances=(),
            gender=0,
            phq8_binary=0,
            phq8_score=0,
            items=dict.fromkeys(PHQ8Item, 0),
        )
        for number in numbers
    ]
    await interviews.keep(connection, "data", people, made)
