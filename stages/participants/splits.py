"""The splits of the DAIC-WOZ layout: train, dev and the three paper splits."""

import hashlib
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from schemas.errors import Refused
from schemas.values.participants import FileProblem, Split, SplitMethod, SplitOrigin
from stages.files.records import Parsed, Separator, parse_rows
from stages.participants.split_names import TRAIN_AND_DEV
from stages.texts.characters import short_hash


def split_of(name: str, participant_ids: Sequence[int], *, data: bytes) -> Split:
    """The split of these participants, whose CSV has these bytes."""
    return Split(
        name=name,
        participant_ids=tuple(participant_ids),
        csv_hash=hashlib.sha256(data).hexdigest()[:12],
        ids_hash=ids_hash(participant_ids),
    )


def listed_split(name: str, participant_ids: Sequence[int]) -> Split:
    """The split of these participants, which no file lists; its CSV hash is that of a file with their ids alone."""
    rows = "".join(f"{number}\n" for number in participant_ids)
    return split_of(name, participant_ids, data=f"Participant_ID\n{rows}".encode())


def ids_hash(participant_ids: Iterable[int]) -> str:
    """12 hex digits that are the same for the same participants in any order.

    >>> ids_hash([3, 1, 2])
    '8a6ae1512200'
    """
    return short_hash(",".join(map(str, sorted(participant_ids))))


def parse_split(data: bytes, *, file: str, name: str) -> Parsed[Split]:
    """Read the ids of a split, in the order of the file. Further columns are not read: labels have their own files."""
    rows, row_problems = parse_rows(data, file=file, separator=Separator.COMMA, columns=("Participant_ID",))
    problems = list(row_problems)
    lines: dict[int, int] = {}
    for row in rows:
        cell = row.cells["Participant_ID"].strip()
        if not (cell.isascii() and cell.isdigit()):
            found, what_to_do = "Participant_ID is not a whole number", "write the participant's number"
            problems.append(FileProblem(file, row.line, found, what_to_do))
        elif lines.setdefault(int(cell), row.line) != row.line:
            found = f"participant {int(cell)} is already in line {lines[int(cell)]}"
            problems.append(FileProblem(file, row.line, found, "keep one of them"))
    return Parsed(split_of(name, tuple(lines), data=data), tuple(problems))


def train_and_dev(parts: Sequence[Split]) -> Split:
    """The participants of train, then those of dev."""
    participant_ids = [participant_id for part in parts for participant_id in part.participant_ids]
    return split_of(TRAIN_AND_DEV, participant_ids, data=",".join(part.csv_hash for part in parts).encode())


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


def origin_words(origin: SplitOrigin | None) -> str:
    """How a split was made.

    >>> origin_words(SplitOrigin(method=SplitMethod.STRATIFIED, seed=7))
    "the paper's rule, seed 7"
    """
    if origin is None:
        return "not recorded"
    words = {
        SplitMethod.FILE: "its file",
        SplitMethod.PUBLISHED: "published ids",
        SplitMethod.STRATIFIED: f"the paper's rule, seed {origin.seed}",
        SplitMethod.LISTED: f"listed in {origin.file}",
    }
    return words[origin.method]


def participants_in_words(ids: Iterable[int]) -> str:
    """Participants, ascending."""
    return f"participant {', '.join(map(str, sorted(ids)))}"


_TRAIN = """
303 304 305 310 312 313 315 317 318 321 324 327 335 338 340 343 344 346 347 350 352 356 363 368 369 388 391 395 397 400
402 404 406 412 414 415 416 418 426 429 433 434 437 439 444 458 463 464 473 474 475 476 477 478 483 486 488 491
"""
_VAL = """
302 307 320 322 325 326 328 331 333 336 341 348 351 353 355 358 360 364 366 371 372 374 376 380 381 382 392 401 403 419
420 425 440 443 446 448 454 457 471 479 482 490 492
"""
_TEST = """
316 319 330 339 345 357 362 367 370 375 377 379 383 385 386 389 390 393 409 413 417 422 423 427 428 430 436 441 445 447
449 451 455 456 459 468 472 484 485 487 489
"""

PUBLISHED_SPLITS: Mapping[str, tuple[int, ...]] = {
    name: tuple(int(number) for number in numbers.split())
    for name, numbers in (("train", _TRAIN), ("val", _VAL), ("test", _TEST))
}
"""Part of the paper's splits -> participants: 58, 43 and 41, ascending and disjoint."""

PUBLISHED_IDS = tuple(sorted(number for numbers in PUBLISHED_SPLITS.values() for number in numbers))
"""All 142, ascending."""
