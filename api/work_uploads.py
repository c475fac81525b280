"""Works that requests bring, as texts or as files, imported into a corpus."""

import asyncio
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from fastapi import UploadFile

from api.context import ApiContext
from schemas.values.requests import ImportRequest
from services.corpora import values_for_import
from services.imports import ImportedFiles, WorkFile, import_files, read_files

#: Files of one import; more take further imports.
MAX_FILES: Final = 200


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


async def uploaded(files: Sequence[UploadFile]) -> list[WorkFile]:
    """Files of a form."""
    names = [relative_name(file.filename or "") for file in files]
    return [WorkFile(name, await file.read(), name) for name, file in zip(names, files, strict=True)]


async def import_requested(
    ctx: ApiContext,
    request: ImportRequest,
    files: Sequence[WorkFile],
    *,
    passes_over: bool = False,
) -> ImportedFiles:
    """Import files with the settings of this machine, and the embedder of the corpus where there is one.

    Raises WorkFilesError where files cannot be works; with `passes_over` only where none of them can.
    """
    read = await asyncio.to_thread(read_files, files)
    if not (passes_over and (read.works or read.documents)):
        read.readable()
    async with ctx.database.connection() as connection:
        made_with = await values_for_import(connection, request.corpus)
    settings = ctx.run_settings(values=made_with)
    imported = await import_files(ctx.database, request, read.works, read.documents or None, settings)
    return imported._replace(refused=[str(error) for error in read.refused.values()])
