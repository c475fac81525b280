"""Parser of the files of a vocabulary, which reports all problems at once."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from schemas.values.participants import FileProblem
from schemas.values.tags import Tag, Together, Vocabulary
from stages.records import Parsed, Row, parse_rows
from stages.tags.phrases import lookup_of

TAGS_FILE = "tags.csv"
PAIRS_FILE = "cooccurrence.tsv"
LISTS_FILE = "tag_lists.txt"
RATINGS_FILE = "ratings.csv"

FILES: Final = {
    TAGS_FILE: "tags with their counts and aliases",
    PAIRS_FILE: "pairs of tags that occur together",
    LISTS_FILE: "lists of tags that occur together",
    RATINGS_FILE: "how probable it is that a tag is not safe for work",
}
"""The files of a vocabulary, and what each has. All but the first may be absent."""

_TAG_COLUMNS = ("name", "category", "count", "aliases")
_LARGEST_COUNT = 2**31 - 1
_CELL = rb'(?:"(?:[^"]|"")*"|[^,"\n]*)'
_HEADLESS = re.compile(rb"(?:\xef\xbb\xbf)?" + _CELL + rb"," + _CELL + rb", *[0-9]* *(?:,|\r?\n|$)")
"""The third cell of the first line is a count or blank instead of the word `count`."""

_TAG = re.compile(rb"(\xef\xbb\xbf)?tag(?=,)")
"""The first column of the header is `tag` instead of `name`."""


def parse_vocabulary(files: Mapping[str, bytes]) -> Parsed[Vocabulary]:
    """The vocabulary in these files, by name.

    - `tags.csv`: name or tag, category, count, aliases. With that header aliases are joined by `|`; without a header,
      as in lists for tag completion, by `,`. A blank count is unknown. Names and aliases are matched in the form in
      which phrases are looked up: lower case, `_` for spaces. A tag's name as it is written is kept to be shown. An
      alias that equals its own tag is dropped.
    - `cooccurrence.tsv`: two tags and how often they occur together, without a header.
    - `tag_lists.txt`: tags that occur together, one list a line, separated by spaces.
    - `ratings.csv`: tag, probability of not being safe for work, with or without that header.

    An alias in the documents counts as its tags; any other unknown word there becomes a tag without a count. Ratings of
    unknown tags are counted and left out. Problems: those of `parse_rows`, invalid values, names that are looked up
    alike.
    """
    rows, problems = _tag_rows(files[TAGS_FILE]) if TAGS_FILE in files else Parsed((), (_MISSING,))
    problems += tuple(_tag_problems(rows))
    pairs, pair_problems = _pairs(files.get(PAIRS_FILE, b""))
    lists, list_problems = _lists(files.get(LISTS_FILE, b""))
    ratings, rating_problems = _ratings(files.get(RATINGS_FILE, b""))
    if problems := problems + pair_problems + list_problems + rating_problems:
        return Parsed(Vocabulary(tags=(), aliases={}), problems)
    aliases = _aliases(rows)
    named = {lookup_of(cells["name"]) for _, cells in rows}
    documents = tuple((_in_tags(tags, named, aliases), weight) for tags, weight in (*pairs, *lists))
    uncounted = {tag for tags, _ in documents for tag in tags} - named
    tags = [*(_tag(cells) for _, cells in rows), *(Tag(name=name) for name in sorted(uncounted))]
    tags = [tag.model_copy(update={"nsfw_probability": ratings.get(tag.name)}) for tag in tags]
    unknown = len(ratings.keys() - named - uncounted)
    return Parsed(Vocabulary(tags=tuple(tags), aliases=aliases, documents=documents, unknown_ratings=unknown))


_MISSING = FileProblem(TAGS_FILE, None, "is missing", "write one with the columns name,category,count,aliases")


def _tag_rows(data: bytes) -> Parsed[tuple[Row, ...]]:
    """The rows; their aliases are joined by `|`."""
    if not _HEADLESS.match(data):
        return parse_rows(_TAG.sub(rb"\g<1>name", data, count=1), file=TAGS_FILE, columns=_TAG_COLUMNS)
    rows, problems = parse_rows(data, file=TAGS_FILE, columns=_TAG_COLUMNS, header=_TAG_COLUMNS)
    joined = ((line, cells | {"aliases": cells["aliases"].replace(",", "|")}) for line, cells in rows)
    return Parsed(tuple(joined), problems)


def _tag_problems(rows: Iterable[Row]) -> Iterator[FileProblem]:
    lines: dict[str, int] = {}
    for line, cells in rows:
        name = lookup_of(cells["name"])
        if not name:
            yield FileProblem(TAGS_FILE, line, "has no name", "name the tag, or remove the line")
        elif name in lines:
            found = f"has the name of line {lines[name]}, apart from capitals, spaces and _"
            what_to_do = "keep one of both; the other may be an alias of the same tag"
            yield FileProblem(TAGS_FILE, line, found, what_to_do)
        lines.setdefault(name, line)
        if cells["count"].strip() and _whole(cells["count"]) is None:
            found = "has a count that is not a whole number of 0 or more"
            yield FileProblem(TAGS_FILE, line, found, "correct it, or leave it blank")


def _aliases(rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    targets: dict[str, set[str]] = {}
    for _, cells in rows:
        name = lookup_of(cells["name"])
        for alias in map(lookup_of, cells["aliases"].split("|")):
            if alias and alias != name:
                targets.setdefault(alias, set()).add(name)
    return {alias: tuple(sorted(targets[alias])) for alias in sorted(targets)}


def _tag(cells: Mapping[str, str]) -> Tag:
    written = cells["name"].strip()
    name = lookup_of(written)
    title = None if written == name else written
    return Tag(name=name, category=cells["category"].strip(), count=_whole(cells["count"]), title=title)


def _pairs(data: bytes) -> Parsed[tuple[Together, ...]]:
    columns = ("tag", "other", "count")
    rows, of_file = parse_rows(data, file=PAIRS_FILE, by_tabs=True, columns=columns, header=columns)
    documents, problems = [], [*of_file]
    for line, cells in rows:
        tags = (lookup_of(cells["tag"]), lookup_of(cells["other"]))
        count = _whole(cells["count"])
        if not all(tags) or not count:
            found = "is not two tags and a count of 1 or more"
            problems.append(FileProblem(PAIRS_FILE, line, found, "correct or remove it"))
        else:
            documents.append((tags, count))
    return Parsed(tuple(documents), tuple(problems))


def _lists(data: bytes) -> Parsed[tuple[Together, ...]]:
    columns = ("tags",)
    rows, problems = parse_rows(data, file=LISTS_FILE, by_tabs=True, columns=columns, header=columns)
    found = (tuple(dict.fromkeys(map(lookup_of, cells["tags"].split()))) for _, cells in rows)
    return Parsed(tuple((tags, 1) for tags in found), problems)


def _ratings(data: bytes) -> Parsed[dict[str, float]]:
    columns = ("tag", "probability")
    rows, of_file = parse_rows(data, file=RATINGS_FILE, columns=columns, header=columns)
    if rows and tuple(cell.strip() for cell in rows[0][1].values()) == columns:
        rows = rows[1:]
    problems = [*of_file]
    ratings: dict[str, float] = {}
    lines: dict[str, int] = {}
    for line, cells in rows:
        rated, value = lookup_of(cells["tag"]), _probability(cells["probability"])
        if not rated or value is None:
            found = "is not a tag and a probability from 0 to 1"
            problems.append(FileProblem(RATINGS_FILE, line, found, "correct or remove it"))
        elif rated in ratings:
            found = f"rates the tag of line {lines[rated]}"
            problems.append(FileProblem(RATINGS_FILE, line, found, "keep one of both"))
        else:
            ratings[rated], lines[rated] = value, line
    return Parsed(ratings, tuple(problems))


def _in_tags(words: Iterable[str], named: set[str], aliases: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    tags = (tag for word in words for tag in ((word,) if word in named else aliases.get(word, (word,))))
    return tuple(dict.fromkeys(tags))


def _whole(cell: str) -> int | None:
    text = cell.strip()
    if not (text.isascii() and text.isdecimal()):
        return None
    return int(text) if len(text) <= 10 and int(text) <= _LARGEST_COUNT else None


def _probability(cell: str) -> float | None:
    try:
        probability = float(cell)
    except ValueError:
        return None
    return probability if math.isfinite(probability) and 0 <= probability <= 1 else None
