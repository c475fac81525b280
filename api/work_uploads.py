"""Works that requests bring, as texts or as files, imported into a corpus."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from fastapi import UploadFile

from api.context import ApiContext
from schemas.settings.resolve import EffectiveSettings
from services.corpora import AS_IT_IS, CorpusOptions, values_for_import
from services.imports import ImportedFiles, import_files
from services.work_files import ReadFiles, WorkFile, read_files


def base_name(name: str) -> str:
    """The name of a file without its folders, of either kind of system.

    >>> base_name("C:\\\\works\\\\tea.md"), base_name("works/tea.md")
    ('tea.md', 'tea.md')
    """
    return PurePosixPath(name.replace("\\", "/")).name


def relative_name(name: str) -> str:
    """The name by which a file identifies its work: with the folders that were sent, and without those of a machine.

    >>> relative_name("teas\\\\green\\\\tea.md"), relative_name("/home/me/tea.md"), relative_name("../teas/tea.md")
    ('teas/green/tea.md', 'tea.md', 'teas/tea.md')
    """
    path = name.replace("\\", "/")
    if path.startswith("/") or path[1:3] == ":/":
        return base_name(path)
    return "/".join(part for part in path.split("/") if part not in ("", ".", ".."))


async def uploaded(files: Sequence[UploadFile], given: dict[str, Any] | None = None) -> list[WorkFile]:
    """Files of a form. `given` are fields of Bibliography that override their front matter."""
    names = [relative_name(file.filename or "") for file in files]
    return [WorkFile(name, await file.read(), name, given or {}) for name, file in zip(names, files, strict=True)]


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """What a request imports into a corpus, and the settings that it names."""

    corpus: str
    files: Sequence[WorkFile]
    values: Mapping[str, str] = field(default_factory=dict)
    """By the names of settings; over the embedder of the corpus, over those of this machine."""
    profile: str | None = None
    options: CorpusOptions = AS_IT_IS
    by_stages: bool = False
    passes_over: bool = False
    """Import the others where files cannot be works, instead of nothing."""

    def read(self) -> ReadFiles:
        """The files. Raises WorkFilesError where those cannot be works that are not passed over, or no file can."""
        read = read_files(self.files)
        return read if self.passes_over and (read.works or read.documents) else read.readable()


async def import_requested(ctx: ApiContext, request: ImportRequest) -> ImportedFiles:
    """Import the files of a request. Raises as its `read` does."""
    read = await asyncio.to_thread(request.read)
    imported = await import_files(
        ctx.database,
        request.corpus,
        read.works,
        read.documents or None,
        await _settings(ctx, request),
        options=request.options,
        by_stages=request.by_stages,
    )
    return imported._replace(refused=[str(error) for error in read.refused.values()], latin1=read.latin1)


async def _settings(ctx: ApiContext, request: ImportRequest) -> EffectiveSettings:
    async with ctx.database.connection() as connection:
        made_with = await values_for_import(connection, request.corpus)
    return ctx.run_settings(profile=request.profile, values={**made_with, **request.values})
