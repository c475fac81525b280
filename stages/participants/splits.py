"""The splits of participants: their names, the files that list them, the paper's rule, and what is wrong with them."""

import hashlib
import random
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field
from pydantic_core import PydanticCustomError

from schemas.errors import Refused
from schemas.suggestions import did_you_mean
from schemas.values.participants import FileProblem, Person, Split
from stages.participants.transcripts import import_command
from stages.records import Parsed, parse_records, parse_rows
from stages.texts.characters import short_hash

TRAIN_AND_DEV = "train+dev"

PAPER_FILES: Mapping[str, str] = {
    "paper-train": "paper_splits/paper_split_train.csv",
    "paper-val": "paper_splits/paper_split_val.csv",
    "paper-test": "paper_splits/paper_split_test.csv",
}
"""Split name -> its file, relative to the data set."""

TRAINING_SPLITS: Mapping[str, str] = {"paper-train": "paper-train", "avec-train": "train"}
"""Name of a published split as the source of references -> its name."""

TEST_SPLITS = frozenset({"paper-val", "paper-test", "dev", "test", TRAIN_AND_DEV})
"""The published splits that nobody takes references from."""

MAKE_SPLITS = (
    "`ragq import participants DIR` imports the splits of a data set, `ragq splits make --paper` makes the paper's, "
    "`--from FILE` makes others."
)


def training_name(split: str) -> str:
    """The name of a stored split as the source of references; all but one keep theirs.

    >>> training_name("train"), training_name("paper-train"), training_name("mine")
    ('avec-train', 'paper-train', 'mine')
    """
    return next((name for name, stored in TRAINING_SPLITS.items() if stored == split), split)


def named_splits(stored: Iterable[Split], asked: str) -> list[Split]:
    """The splits that a name stands for: NAME those of every data set, DATA_SET/NAME one."""
    stored, aliases = list(stored), {"paper": "paper-test", **TRAINING_SPLITS}
    data_set, slash, name = asked.rpartition("/")
    for wanted in (asked, f"{data_set}{slash}{aliases.get(name, name)}"):
        if found := [one for one in stored if wanted in (one.name, f"{one.data_set}/{one.name}")]:
            return found
    return []


def named_split(stored: Sequence[Split], asked: str) -> Split:
    """The split that NAME or DATA_SET/NAME stands for. Raises Refused when none is stored, or several are meant."""
    found = named_splits(stored, asked)
    if not found:
        known = [one.called for one in stored]
        raise Refused(
            f"Split '{asked}' is not stored.{did_you_mean(asked, known)} Stored splits: "
            f"{', '.join(known) or 'none yet'}. {MAKE_SPLITS}"
        )
    if len(found) > 1:
        raise Refused(
            f"Several data sets have a split '{asked}': name one of {', '.join(one.called for one in found)}."
        )
    return found[0]


def sources(stored: Iterable[Split]) -> list[Split]:
    """The stored splits that may be the source of references, called by their names as such: likely ones first."""
    allowed = [
        one.model_copy(update={"called": one.called.removesuffix(one.name) + training_name(one.name)})
        for one in stored
        if one.name not in TEST_SPLITS
    ]
    rank = {name: place for place, name in enumerate(TRAINING_SPLITS.values())}
    return sorted(allowed, key=lambda one: (rank.get(one.name, len(rank)), "train" not in one.name.lower(), one.called))


def first_index(stored: Iterable[Split]) -> str:
    """How the first index is built of the stored splits, in words."""
    likeliest = next(iter(sources(stored)), None)
    if likeliest is None:
        return MAKE_SPLITS
    return f"`ragq index references --split {shlex.quote(likeliest.called)} --wait` builds one."


def split_of(name: str, participant_ids: Sequence[int], *, data: bytes, made_by: str = "its file") -> Split:
    """The split of these participants, whose CSV has these bytes."""
    return Split(
        name=name,
        participant_ids=tuple(participant_ids),
        csv_hash=hashlib.sha256(data).hexdigest()[:12],
        ids_hash=ids_hash(participant_ids),
        made_by=made_by,
    )


def listed_split(name: str, participant_ids: Sequence[int], made_by: str) -> Split:
    """The split of these participants, which no file lists; its CSV hash is that of a file with their ids alone."""
    rows = "".join(f"{number}\n" for number in participant_ids)
    return split_of(name, participant_ids, data=f"Participant_ID\n{rows}".encode(), made_by=made_by)


def ids_hash(participant_ids: Iterable[int]) -> str:
    """12 hex digits that are the same for the same participants in any order.

    >>> ids_hash([3, 1, 2])
    '8a6ae1512200'
    """
    return short_hash(",".join(map(str, sorted(participant_ids))))


ParticipantId = Annotated[int, Field(ge=1, le=999_999)]


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+_.-]{0,63}")
_RESERVED = ("paper", "avec-train", TRAIN_AND_DEV)
"""Names that stand for other splits."""
_WHAT_TO_LIST = (
    "write the number of a participant and the name of a split: letters, digits and - + _ . (at most 64), and none of "
    f"{', '.join(_RESERVED)}"
)


def _name_of_own(cell: str) -> str:
    name = cell.strip()
    if _NAME.fullmatch(name) is None or name in _RESERVED:
        raise PydanticCustomError("split", "is no name of a split of one's own")
    return name


class _Member(BaseModel):
    """A row of a split, or of a list of splits."""

    number: ParticipantId = Field(alias="Participant_ID")
    split: Annotated[str, AfterValidator(_name_of_own)] = ""

    @property
    def id(self) -> tuple[str, int]:
        """Nobody is twice in a split."""
        return self.split, self.number


def parse_split(data: bytes, *, file: str, name: str) -> Parsed[Split]:
    """Read the ids of a split, in the order of the file. Further columns are not read: labels have their own files."""
    rows = parse_rows(data, file=file, columns=("Participant_ID",))
    what_to_do = "write participants' numbers"
    members, problems = parse_records(_Member.model_validate, rows, file=file, what_to_do=what_to_do)
    return Parsed(split_of(name, [member.number for member in members], data=data), problems)


def parse_listed_splits(data: bytes, *, file: str) -> Parsed[tuple[Split, ...]]:
    """The splits that a CSV lists, participants in its order; its column `split` has their names."""
    rows = parse_rows(data, file=file, columns=("Participant_ID", "split"))
    members, problems = parse_records(_Member.model_validate, rows, file=file, what_to_do=_WHAT_TO_LIST)
    if not (members or problems):
        problems = (FileProblem(file, None, "lists no participant", _WHAT_TO_LIST),)
    listed: dict[str, list[int]] = {}
    for member in members:
        listed.setdefault(member.split, []).append(member.number)
    splits = (split_of(name, ids, data=data, made_by=f"listed in {file}") for name, ids in listed.items())
    return Parsed(tuple(splits), problems)


def train_and_dev(parts: Sequence[Split]) -> Split:
    """The participants of train, then those of dev."""
    participant_ids = [participant_id for part in parts for participant_id in part.participant_ids]
    return split_of(TRAIN_AND_DEV, participant_ids, data=",".join(part.csv_hash for part in parts).encode())


SHARES: Mapping[str, float] = {"train": 0.41, "val": 0.30, "test": 0.29}
"""Part of the split -> its share of the participants."""


def stratified_split(people: Sequence[Person], *, seed: int) -> dict[str, tuple[int, ...]]:
    """The participants of each part, ids ascending. The same people and seed give the same parts, in any order of them.

    Participants are grouped by total score, which all have. A group of one goes to train; of a group of two, one goes
    to val and one to test. All others are drawn so that the sizes are those of SHARES, and totals and genders are
    spread evenly. Raises Refused when a part would be empty, which happens with few participants.
    """
    rng = random.Random(seed)
    parts: dict[str, list[int]] = {part: [] for part in SHARES}
    flexible: list[Person] = []
    ordered = sorted(people, key=lambda person: (person.phq8_score, person.id))
    for group in (list(same) for _, same in groupby(ordered, key=lambda person: person.phq8_score)):
        rng.shuffle(group)
        if len(group) == 1:
            parts["train"].append(group[0].id)
        elif len(group) == 2:
            parts["val"].append(group[0].id)
            parts["test"].append(group[1].id)
        else:
            flexible += group
    # Neighbours in this order are alike, so that every part gets its share of each total and gender.
    flexible.sort(key=lambda person: (person.gender is None, person.gender, person.phq8_score))
    places = {part: max(0, size - len(parts[part])) for part, size in target_sizes(len(people)).items()}
    for person, part in zip(flexible, _dealt(places), strict=False):
        parts[part].append(person.id)
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


def _dealt(places: Mapping[str, int]) -> list[str]:
    """Each part as often as it has places, at even distances."""
    turns = [((turn + 0.5) / count, part) for part, count in places.items() for turn in range(count)]
    return [part for _, part in sorted(turns)]


def participants_in_words(ids: Iterable[int]) -> str:
    """Participants, ascending."""
    return f"participant {', '.join(map(str, sorted(ids)))}"


_PUBLISHED = {
    "train": """
303 304 305 310 312 313 315 317 318 321 324 327 335 338 340 343 344 346 347 350 352 356 363 368 369 388 391 395 397 400
402 404 406 412 414 415 416 418 426 429 433 434 437 439 444 458 463 464 473 474 475 476 477 478 483 486 488 491
""",
    "val": """
302 307 320 322 325 326 328 331 333 336 341 348 351 353 355 358 360 364 366 371 372 374 376 380 381 382 392 401 403 419
420 425 440 443 446 448 454 457 471 479 482 490 492
""",
    "test": """
316 319 330 339 345 357 362 367 370 375 377 379 383 385 386 389 390 393 409 413 417 422 423 427 428 430 436 441 445 447
449 451 455 456 459 468 472 484 485 487 489
""",
}
PUBLISHED_SPLITS: Mapping[str, tuple[int, ...]] = {
    part: tuple(map(int, numbers.split())) for part, numbers in _PUBLISHED.items()
}
"""Part of the paper's splits -> participants: 58, 43 and 41, ascending and disjoint."""

PUBLISHED = "published ids"
"""What makes splits of them."""

PUBLISHED_IDS = tuple(sorted(number for numbers in PUBLISHED_SPLITS.values() for number in numbers))
"""All 142, ascending."""


DEPRESSED_FROM = 10
"""The score from which PHQ8_Binary is 1."""

_DISJOINT = (tuple(PAPER_FILES), ("train", "dev"))
"""Splits of one group share no participant."""
_LABELLED = (*PAPER_FILES, "train", "dev", TRAIN_AND_DEV)
"""Splits whose participants have item labels."""


def split_problems(splits: Sequence[Split], people: Mapping[int, Person]) -> dict[str, list[str]]:
    """What is wrong with each split of a data set, and what to do, by its name. `people` have a transcript."""
    found = {split.name: list(_of_one(split, people)) for split in splits}
    for name, problem in overlaps({split.name: split.participant_ids for split in splits}):
        found[name].append(f"{problem}; keep each in one of them")
    return found


def overlaps(splits: Mapping[str, Sequence[int]]) -> Iterator[tuple[str, str]]:
    """Participants in two splits that exclude each other: the name of one, and what is wrong with it."""
    for group in _DISJOINT:
        for name, other in combinations([name for name in group if name in splits], 2):
            if both := set(splits[name]) & set(splits[other]):
                yield name, f"{participants_in_words(both)} also in {other}"


def _of_one(split: Split, people: Mapping[int, Person]) -> Iterator[str]:
    imports = f"`{import_command(split.data_set)}` imports them"
    if unknown := set(split.participant_ids) - people.keys():
        yield f"{participants_in_words(unknown)} not stored (no transcript); {imports}"
    bare = {number for number in split.participant_ids if number in people and people[number].items is None}
    if split.name in _LABELLED and bare:
        yield f"{participants_in_words(bare)} without item labels, in no metric; {imports}"
    if published := _unlike_published(split):
        remedy = "`ragq splits make --paper --replace` makes the paper's, `--from FILE` declares another"
        yield f"{published}; {remedy}"


def _unlike_published(split: Split) -> str | None:
    part = split.name.removeprefix("paper-")
    if split.name not in PAPER_FILES or split.made_by not in ("its file", PUBLISHED):
        return None
    published = set(PUBLISHED_SPLITS[part])
    differences = {
        "lacks published": published - set(split.participant_ids),
        "has unpublished": set(split.participant_ids) - published,
    }
    return "; ".join(f"{what} {participants_in_words(ids)}" for what, ids in differences.items() if ids) or None
