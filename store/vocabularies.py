"""Vocabularies of tags: imported whole, listed, looked up."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from schemas.errors import DomainError, FailureCategory, Refused
from schemas.statuses import JobStatus
from schemas.values.base import Listed, Value
from schemas.values.requests import TagsWanted
from schemas.values.tags import BuiltVocabulary, PhraseReport, StoredVocabulary, Tag, ValidatedTags, Vocabulary
from stages.tags.rerank import emptied
from store import rows
from store.database import BULK_SECONDS, Connection, Database, Lock, hold

USERS = """
SELECT DISTINCT run_id FROM job
WHERE status IN ('waiting', 'running', 'interrupted', 'paused')
  AND (inputs ->> 'vocabulary_id')::bigint IN (SELECT id FROM vocabulary WHERE name = $1)
ORDER BY run_id
"""

SHARE = "SELECT coalesce(avg((coalesce(count, 0) >= $2)::int), 0)::float8 FROM tag WHERE vocabulary_id = $1"


async def keep(connection: Connection, name: str, vocabulary: Vocabulary) -> StoredVocabulary:
    """Store a vocabulary, all or nothing, and replace the older one of its name. Jobs that were submitted with the
    older one keep it."""

    async def copy(table: str, columns: Sequence[str], records: Iterable[tuple[Any, ...]]) -> None:
        of_vocabulary = ((vocabulary_id, *record) for record in records)
        names = ("vocabulary_id", *columns)
        await connection.copy_records_to_table(table, columns=names, records=of_vocabulary, timeout=BULK_SECONDS)

    async with connection.transaction():
        # Of two imports at the same moment, the later one has to see the earlier one.
        await hold(connection, Lock.VOCABULARY, name)
        await rows.update(connection, "vocabulary", {"name": name, "replaced_at": None}, replaced_at=rows.NOW)
        counts = {part: len(getattr(vocabulary, part)) for part in ("tags", "aliases", "documents")}
        vocabulary_id = await rows.insert(connection, "vocabulary", name=name, **counts)
        await copy("tag", [*Tag.model_fields], (tuple(dict(tag).values()) for tag in vocabulary.tags))
        aliases = ((alias, tag) for alias, targets in vocabulary.aliases.items() for tag in targets)
        await copy("tag_alias", ("alias", "tag"), aliases)
        documents = ((at, list(tags), weight) for at, (tags, weight) in enumerate(vocabulary.documents))
        await copy("tag_document", ("ordinal", "tags", "weight"), documents)
        (kept,) = await current(connection, name)
    return kept


async def current(connection: Connection, name: str | None = None) -> list[StoredVocabulary]:
    """The vocabularies that can be asked for, by name; or that of one name."""
    named = {} if name is None else {"name": name}
    return await rows.find(connection, StoredVocabulary, "vocabulary", order="name", replaced_at=None, **named)


async def delete(connection: Connection, name: str) -> list[int]:
    """Delete every import of a name. Returns the runs whose unfinished jobs use one; then nothing is deleted."""
    async with connection.transaction():
        await hold(connection, Lock.VOCABULARY, name)
        users = [row["run_id"] for row in await connection.fetch(USERS, name)]
        if not users:
            await connection.execute("DELETE FROM vocabulary WHERE name = $1", name, timeout=BULK_SECONDS)
    return users


async def share(connection: Connection, vocabulary_id: int, count: int) -> float:
    """The share of the tags that were used at least so often; 0 without tags."""
    found: float = await connection.fetchval(SHARE, vocabulary_id, count)
    return found


_TAG = ", ".join(Tag.model_fields)

TAGS = f"SELECT {_TAG} FROM tag WHERE vocabulary_id = $1 ORDER BY id"

ALIASES = """
SELECT alias, array_agg(tag ORDER BY tag COLLATE "C") AS tags FROM tag_alias WHERE vocabulary_id = $1
GROUP BY alias ORDER BY alias COLLATE "C"
"""

DOCUMENTS = "SELECT tags, weight FROM tag_document WHERE vocabulary_id = $1 ORDER BY ordinal"

_SEARCHED = "FROM tag WHERE vocabulary_id = $1 AND ($2 = '' OR strpos(name, $2) > 0 OR strpos(title, $2) > 0)"

PART = f"""
SELECT {_TAG} {_SEARCHED}
ORDER BY count DESC NULLS LAST, name COLLATE "C" LIMIT $3 OFFSET $4
"""

FOUND = f"SELECT count(*) {_SEARCHED}"

LOOK_UP = f"""
WITH alias AS (
    SELECT alias, array_agg(tag ORDER BY tag COLLATE "C") AS tags FROM tag_alias
    WHERE vocabulary_id = $1 AND alias = ANY($2::text[]) GROUP BY alias
), found AS (
    SELECT {_TAG} FROM tag
    WHERE vocabulary_id = $1 AND name IN (SELECT unnest($2::text[]) UNION SELECT unnest(tags) FROM alias)
)
SELECT coalesce((SELECT jsonb_agg(to_jsonb(found) ORDER BY name COLLATE "C") FROM found), '[]') AS tags,
       coalesce((SELECT jsonb_object_agg(alias, tags) FROM alias), '{{}}') AS aliases
FROM vocabulary WHERE id = $1
"""


async def tags(connection: Connection, vocabulary_id: int, wanted: TagsWanted) -> Listed[Tag]:
    """Tags, the most used first; with `search` those with it in their name."""
    found = await connection.fetch(PART, vocabulary_id, wanted.search, wanted.limit, wanted.offset)
    total = await connection.fetchval(FOUND, vocabulary_id, wanted.search)
    return wanted.page([Tag(**row) for row in found], total)


async def content(connection: Connection, vocabulary_id: int) -> Vocabulary:
    """Everything that was imported, in the order of its files. Raises DomainError."""
    if await rows.value(connection, "vocabulary", "id", id=vocabulary_id) is None:
        raise vocabulary_missing(vocabulary_id)
    return Vocabulary(
        tags=map(dict, await connection.fetch(TAGS, vocabulary_id, timeout=BULK_SECONDS)),
        aliases=dict(await connection.fetch(ALIASES, vocabulary_id, timeout=BULK_SECONDS)),
        documents=map(tuple, await connection.fetch(DOCUMENTS, vocabulary_id, timeout=BULK_SECONDS)),
    )


async def look_up(database: Database, vocabulary_id: int, tokens: Sequence[str]) -> Vocabulary:
    """The port LookUp for a vocabulary."""
    if not tokens:
        return Vocabulary(tags=(), aliases={})
    row = await database.with_retry(lambda connection: connection.fetchrow(LOOK_UP, vocabulary_id, list(tokens)))
    if row is None:
        raise vocabulary_missing(vocabulary_id)
    return Vocabulary(**row)


Part = Literal["tokens", "context", "similarity"]
"""Which model of a vocabulary."""

# The row lock lets one build after the other look whether there are models already.
TO_INDEX = "SELECT model_digest, context_digest FROM vocabulary WHERE id = $1 FOR UPDATE"

KEEP_FILE = "INSERT INTO vocabulary_model (vocabulary_id, part, sha256, data) VALUES ($1, $2, $3, $4)"


async def keep_models(connection: Connection, built: BuiltVocabulary, files: Mapping[Part, bytes]) -> None:
    """Store the models of a vocabulary, all or nothing; the same models once more change nothing. A vocabulary keeps
    its models for good, so that what a run found can be found again. Raises Refused when it has others already, and
    DomainError when it is not there."""
    async with connection.transaction():
        row = await connection.fetchrow(TO_INDEX, built.vocabulary_id)
        if row is None:
            raise vocabulary_missing(built.vocabulary_id)
        if row["model_digest"] is not None:
            if (row["model_digest"], row["context_digest"]) == (built.model_digest, built.context_digest):
                return
            raise Refused(
                f"Vocabulary {built.vocabulary_id} has other models already; import it again to build them anew: "
                "runs that used these keep them."
            )
        for part, data in files.items():
            digest = hashlib.sha256(data).hexdigest()
            await connection.execute(KEEP_FILE, built.vocabulary_id, part, digest, data, timeout=BULK_SECONDS)
        models = built.model_dump(exclude={"vocabulary_id"})
        await rows.update(connection, "vocabulary", {"id": built.vocabulary_id}, **models, indexed_at=rows.NOW)


async def file(connection: Connection, vocabulary_id: int, part: Part) -> bytes:
    """The bytes of a model. Raises DomainError when it is not there or is not what was stored."""
    row = await connection.fetchrow(
        "SELECT sha256, data FROM vocabulary_model WHERE vocabulary_id = $1 AND part = $2",
        vocabulary_id,
        part,
        timeout=BULK_SECONDS,
    )
    if row is None:
        raise DomainError(
            f"Vocabulary {vocabulary_id} has no models yet; build them with `ragq index tags --wait`.",
            FailureCategory.VOCABULARY_UNUSABLE,
        )
    data: bytes = row["data"]
    if hashlib.sha256(data).hexdigest() != row["sha256"]:
        raise DomainError(
            f"The model '{part}' of vocabulary {vocabulary_id} is not what was stored; "
            "import and index the vocabulary again.",
            FailureCategory.VOCABULARY_UNUSABLE,
        )
    return data


RESULTS = """
SELECT j.id AS job_id, j.subject AS id, j.status, j.inputs -> 'min_tag_count' AS min_tag_count, v.output AS validated,
       coalesce(r.output -> 'phrase_reports', '[]') AS phrase_reports
FROM job AS j
LEFT JOIN current_attempt AS v ON v.job_id = j.id AND v.stage = 'validate' AND v.status = 'done'
LEFT JOIN current_attempt AS r ON r.job_id = j.id AND r.stage = 'rerank' AND r.status = 'done'
WHERE j.kind = 'tags' AND (j.run_id = $1 OR j.id = $2)
ORDER BY j.ordinal
"""


class TagsResult(Value):
    """The result of one phrase set."""

    job_id: int
    id: str
    status: JobStatus
    min_tag_count: int
    validated: ValidatedTags | None
    """None until the job has succeeded."""
    phrase_reports: tuple[PhraseReport, ...]

    @property
    def note(self) -> str | None:
        """Why phrases that led to tags have none; None where the filters left each phrase one."""
        return None if self.validated is None else emptied(self.phrase_reports, min_tag_count=self.min_tag_count)

    def shown(self, *, verbose: bool = False, phrase_ranks: bool = False) -> dict[str, Any]:
        """As JSON has it. The result is the candidates; or an array of them, the reports by phrase and the ranks, as
        far as asked for. It is None where the job has none."""
        result: list[Any] | None = None
        if self.validated is not None:
            parts: list[Any] = [list(self.validated.candidates)]
            parts += [list(self.phrase_reports)] if verbose else []
            parts += [dict(self.validated.phrase_rank_by_tag)] if phrase_ranks else []
            result = parts if len(parts) > 1 else parts[0]
        return {"id": self.id, "status": self.status, "result": result, "note": self.note}


async def results(connection: Connection, *, run_id: int | None = None, job_id: int | None = None) -> list[TagsResult]:
    """The tags jobs of a run in the order of submission, or one job. None for runs and jobs of other kinds."""
    return [TagsResult(**row) for row in await connection.fetch(RESULTS, run_id, job_id)]


def vocabulary_missing(vocabulary_id: int) -> DomainError:
    """For a vocabulary that is not stored, or no longer."""
    return DomainError(
        f"Vocabulary {vocabulary_id} is not stored; import it again and submit again.",
        FailureCategory.VOCABULARY_UNUSABLE,
    )
