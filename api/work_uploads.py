"""Works that requests bring, as texts or as files, imported into a corpus."""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from starlette.datastructures import UploadFile

from api.context import ApiContext
from schemas.values.requests import ImportRequest
from services.corpora import values_for_import
from services.imports import Imported, WorkFile, import_files

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


async def import_uploaded(
    ctx: ApiContext, request: ImportRequest, files: Sequence[UploadFile], *, is_whole: bool
) -> Imported:
    """Import files of a form with the settings of this machine, and the embedder of the corpus where there is one.

    `is_whole` and errors are those of `import_files`.
    """
    names = [relative_name(file.filename or "") for file in files]
    read = [WorkFile(name, await file.read(), name) for name, file in zip(names, files, strict=True)]
    settings = ctx.run_settings(values=await ctx.database.once(values_for_import, request.corpus))
    return await import_files(ctx.database, request, read, settings, is_whole=is_whole)
