"""What an import of files would do, and the works whose files are gone, removed."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from services.documents import PlannedDocument
from services.work_files import ReadWork, WorkFile
from store import originals
from store.corpora import corpora, sources
from store.corpora.sources import WorkSource
from store.database import Connection


@dataclass(frozen=True, kw_only=True)
class MovedWork:
    """A work whose file has another name now."""

    work: WorkSource
    source_path: str


@dataclass(frozen=True, kw_only=True)
class ImportPlan:
    """What becomes of files, by their names, and of works without a file."""

    corpus_id: int | None
    """None for a corpus that is not there yet."""
    converted: list[PlannedDocument] = field(default_factory=list)
    """Those of the new and the replaced that go through the stages of a document."""
    new: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """Markdown whose text another work has."""
    moved: list[MovedWork] = field(default_factory=list)
    removed: list[WorkSource] = field(default_factory=list)
    emptied: list[str] = field(default_factory=list)
    """Folders of which every work is removed."""


async def plan_import(
    connection: Connection,
    corpus: str,
    works: Sequence[ReadWork],
    documents: Iterable[WorkFile],
    *,
    folders: Sequence[str] = (),
    is_gone: Callable[[str], bool],
) -> ImportPlan:
    """What an import into a corpus would do, and which of its works `folders` have no file for any more.

    A file whose content a work without a file has is that work under another name. Works of other sources than these
    folders are never removed; nor are those whose file is there and is not imported, such as one of another suffix.
    """
    found = await corpora.find(connection, corpus)
    plan = ImportPlan(corpus_id=None if found is None else found.id)
    stored = [] if found is None else await sources.sources(connection, found.id)
    by_path = {work.source_path: work for work in stored}
    inside = {folder: [work for work in stored if work.source_path.startswith(_prefix(folder))] for folder in folders}
    gone = {work.id: work for of_folder in inside.values() for work in of_folder if is_gone(work.source_path)}
    by_text = {work.content_hash: work for work in stored}
    moved: dict[int, str] = {}
    for file in documents:
        source_path, original = file.source_path, sha256(file.content).hexdigest()
        is_described = bool(file.fields)
        known = by_path.get(source_path)
        same = next((work for work in gone.values() if work.original_hash == original and work.id not in moved), None)
        if known is None and same is not None:
            moved[same.id] = source_path
        if (known is not None and known.original_hash == original) and not is_described:
            plan.unchanged.append(source_path)
        elif known is None and same is not None and not is_described:
            continue
        else:
            (plan.new if known is None and same is None else plan.replaced).append(source_path)
            plan.converted.append(PlannedDocument.of(file, original))
    read: set[str] = set()
    for work in works:
        content_hash = sha256(work.markdown.encode()).hexdigest()
        known, same = by_path.get(work.source_path), by_text.get(content_hash)
        if known is None and same is not None and same.id in gone and same.id not in moved:
            moved[same.id] = work.source_path
            known = same
            if known.fields == work.bibliography.model_dump():
                continue
        is_copy = same is None and content_hash in read
        read.add(content_hash)
        if is_copy or (same is not None and same is not known):
            plan.refused.append(work.source_path)
        elif known is None:
            plan.new.append(work.source_path)
        elif same is known and known.fields == work.bibliography.model_dump():
            plan.unchanged.append(work.source_path)
        else:
            plan.replaced.append(work.source_path)
    plan.moved.extend(MovedWork(work=gone[work_id], source_path=path) for work_id, path in moved.items())
    plan.removed.extend(work for work in gone.values() if work.id not in moved)
    removed = {work.id for work in plan.removed}
    plan.emptied.extend(
        folder for folder, of_folder in inside.items() if of_folder and removed.issuperset(w.id for w in of_folder)
    )
    return plan


async def prune(connection: Connection, plan: ImportPlan) -> int:
    """Give moved works the names of their files, and remove works without one. How many were removed.

    Each work in a transaction of its own: after a failure, the same import continues. A work that was imported again
    from elsewhere meanwhile stays.
    """
    if plan.corpus_id is None:
        return 0
    for moved in plan.moved:
        await sources.move(connection, plan.corpus_id, moved.work, moved.source_path)
    removed = sum([await sources.remove(connection, plan.corpus_id, work) for work in plan.removed])
    await originals.drop_unused(connection)
    return removed


def _prefix(folder: str) -> str:
    return folder.rstrip(os.sep) + os.sep
