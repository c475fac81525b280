"""A new split of labelled participants by the rule of the paper's Appendix C."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from schemas.errors import Refused

SHARES: Mapping[str, float] = {"train": 0.41, "val": 0.30, "test": 0.29}
"""Part of the split -> its share of the participants."""


class Labelled(NamedTuple):
    """A participant, and what splits are balanced by."""

    participant_id: int
    total: int
    """The PHQ-8 total score."""
    gender: int | None


def stratified_split(people: Sequence[Labelled], *, seed: int) -> dict[str, tuple[int, ...]]:
    """The participants of each part, ids ascending. The same people and seed give the same parts, in any order of them.

    Participants are grouped by total score. A group of one goes to train; of a group of two, one goes to val and one to
    test. All others are drawn so that the sizes are those of SHARES, and totals and genders are spread evenly.

    Raises Refused when a part would be empty, which happens with few participants.
    """
    rng = random.Random(seed)
    parts: dict[str, list[int]] = {part: [] for part in SHARES}
    flexible: list[Labelled] = []
    for group in _groups(people):
        rng.shuffle(group)
        if len(group) == 1:
            parts["train"].append(group[0].participant_id)
        elif len(group) == 2:
            parts["val"].append(group[0].participant_id)
            parts["test"].append(group[1].participant_id)
        else:
            flexible += group
    # Neighbours in this order are alike, so that every part gets its share of each total and gender.
    flexible.sort(key=lambda person: (person.gender is None, person.gender, person.total))
    places = {part: max(0, size - len(parts[part])) for part, size in target_sizes(len(people)).items()}
    for person, part in zip(flexible, _dealt(places), strict=False):
        parts[part].append(person.participant_id)
    empty = [part for part, ids in parts.items() if not ids]
    if empty:
        raise Refused(
            f"The rule leaves no participant for {' and '.join(empty)}: {len(people)} participants have too few totals "
            "in common. List the ids in a file and name it with `ragq splits make --from FILE`."
        )
    return {part: tuple(sorted(ids)) for part, ids in parts.items()}


def target_sizes(count: int) -> dict[str, int]:
    """The size of each part.

    >>> target_sizes(142)
    {'train': 58, 'val': 43, 'test': 41}
    """
    train, val = round(SHARES["train"] * count), round(SHARES["val"] * count)
    return {"train": train, "val": val, "test": count - train - val}


def _groups(people: Sequence[Labelled]) -> Iterator[list[Labelled]]:
    ordered = sorted(people, key=lambda person: (person.total, person.participant_id))
    for _, group in groupby(ordered, key=lambda person: person.total):
        yield list(group)


def _dealt(places: Mapping[str, int]) -> Iterator[str]:
    """Each part as often as it has places, at even distances."""
    count = sum(places.values())
    given = dict.fromkeys(places, 0)
    for turn in range(1, count + 1):
        open_parts = [part for part in places if given[part] < places[part]]
        part = max(open_parts, key=lambda part: places[part] * turn - given[part] * count)
        given[part] += 1
        yield part
