"""Files and folders that a user names."""

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from cli.options import Typed
from cli.output import draw, print_text
from schemas.errors import Refused
from schemas.settings.base import ENV_FILE, merged
from schemas.settings.process import effective_process
from schemas.suggestions import nearest
from schemas.values.participants import DataSet, FileProblem, TranscriptVariant
from stages.files.records import Parsed, accept
from stages.participants.daic_woz import GENDER_LABEL_FILE, ITEM_LABEL_FILES, TOTAL_LABEL_FILE, parse_data_set
from stages.participants.paper_metadata import METADATA_FILE
from stages.participants.split_names import PAPER_FILES
from stages.participants.transcripts import CLEANED, variant_of_folder
from stages.texts.characters import listed

_MEGABYTE = 1_000_000


class FileRefused(Refused):
    """A file that is not read; `found` is the reason, `remedy` what to do."""

    def __init__(self, path: Path | str, found: str, remedy: str) -> None:
        self.found = found
        self.remedy = remedy
        super().__init__(f"{path} {found}; {remedy}.")


def read_file(path: Path) -> bytes:
    """The content of a file. Raises FileRefused unless it is a regular one of at most RAGQ_MAX_FILE_MB megabytes."""
    try:
        found = path.stat()
        if not S_ISREG(found.st_mode):
            raise FileRefused(path, "is not a regular file", "copy its content into one")
        _check_size(path, found.st_size)
        return path.read_bytes()
    except OSError as error:
        raise FileRefused(path, f"cannot be read ({error.strerror})", "restore the file or its rights") from None


def read_stdin() -> bytes:
    """The content of stdin. Raises FileRefused for more than RAGQ_MAX_FILE_MB megabytes."""
    content = sys.stdin.buffer.read(_most_megabytes() * _MEGABYTE + 1)
    _check_size("<stdin>", len(content))
    return content


def _check_size(path: Path | str, size: int) -> None:
    # The setting is one megabyte at least: for the thousands of small files of a corpus it is not read.
    if size > _MEGABYTE and size > (most := _most_megabytes()) * _MEGABYTE:
        raise FileRefused(path, f"is larger than {most} MB", "split it, or raise RAGQ_MAX_FILE_MB")


def _most_megabytes() -> int:
    return effective_process(os.environ, ENV_FILE).settings.ragq_max_file_mb


class Rows(NamedTuple):
    """The lines to read."""

    file: str
    """As problems name it."""
    content: bytes


def row_file(instead: str) -> Typed[Rows]:
    """The path of a file, - for stdin, or the objects of its lines.

    `instead` is what takes the text itself, for who wrote that: a command line in which {} is the text.
    """

    def parse(value: str | list[Any]) -> Rows:
        if isinstance(value, list):
            return Rows("the file of --config", "\n".join(json.dumps(row, default=str) for row in value).encode())
        if value == "-":
            return Rows("<stdin>", read_stdin())
        if not os.path.exists(value):  # noqa: PTH110  (a text is too long for the name of a file)
            command = instead.format(shlex.quote(value))
            raise ValueError(f"there is no file '{value}'. If that is the text itself: `{command}`")
        return Rows(str(value), read_file(Path(value)))

    return Typed("FILE", parse)


def environment() -> Mapping[str, str]:
    """The environment over the .env file."""
    return merged(os.environ, ENV_FILE)


def data_directory() -> Path:
    """DATA_BASE_DIR, or `data`."""
    return Path(environment().get("DATA_BASE_DIR") or "data")


_NAMES = {"directory": "DATA_BASE_DIR", "transcripts": "DATA_TRANSCRIPTS_DIR"}


def default_directory() -> str:
    """The folder of the data set. Raises UsageError without DATA_BASE_DIR."""
    if (named := _named("directory")) is None:
        raise click.MissingParameter(param_hint="'DIRECTORY'", param_type="argument")
    return named


def default_transcripts() -> str:
    """The folder of the transcripts: an absolute path, or the sub-folder `transcripts` without DATA_TRANSCRIPTS_DIR."""
    named = _named("transcripts")
    return "transcripts" if named is None else str(Path(named).absolute())


def announce_folders() -> None:
    """Print on stderr which of the current command's folders the environment or .env names."""
    context = click.get_current_context()
    for parameter, name in _NAMES.items():
        if context.get_parameter_source(parameter) is ParameterSource.DEFAULT and _named(parameter):
            print_text(f"{parameter.capitalize()}: {context.params[parameter]} ({name}).", err=True)


def _named(parameter: str) -> str | None:
    return environment().get(_NAMES[parameter]) or None


#: Written beside the transcripts by the preprocessing of few-shot studies.
MANIFEST = "preprocess_manifest.json"

DEFAULT_TRANSCRIPTS = "transcripts"

NAMES = {
    **dict.fromkeys(ITEM_LABEL_FILES.values(), "a split with item labels"),
    TOTAL_LABEL_FILE: "a split with total scores",
    GENDER_LABEL_FILE: "a split without labels",
    **dict.fromkeys(PAPER_FILES.values(), "a split of the paper"),
    METADATA_FILE: "the description of the paper's splits",
}
"""The files beside the transcripts, relative to the folder, and what each has; each may be absent."""

_PARTICIPANT_FOLDER = re.compile(r"([1-9][0-9]{0,5})_P")


def read_directory(
    directory: Path,
    *,
    transcripts: str = DEFAULT_TRANSCRIPTS,
    variant: TranscriptVariant | None = None,
    patch_missing_items: bool = False,
) -> DataSet:
    """Read the data set in a folder; `transcripts` is the folder with the interviews, of any variant, relative to it.

    The variant is the one that is named here, else that of the folder's preprocess_manifest.json, else of its name.

    Participants are the sub-folders named `<id>_P`; `no_participants` lists what else is there. Raises ProblemsFound
    with the problems of all files when there is any, and Refused when the folder does not exist or its manifest names
    no variant.
    """
    if not directory.is_dir():
        raise Refused(f"There is no folder {directory} to import. Name one that holds {transcripts}/.")
    if transcripts != DEFAULT_TRANSCRIPTS and not (directory / transcripts).is_dir():
        there = sorted(path.name for path in directory.glob("*transcripts*") if path.is_dir())
        raise Refused(f"There is no folder {directory / transcripts}. There are: {', '.join(there) or 'none'}.")
    present = [name for name in NAMES if (directory / name).is_file()]
    files: dict[str, bytes] = {}
    problems: list[FileProblem] = []
    folder = directory / transcripts
    paths = {name: folder.parent / name for name in _transcript_names(folder)}
    for name, path in (paths | {name: directory / name for name in present}).items():
        try:
            files[name] = read_file(path)
        except FileRefused as error:
            problems.append(FileProblem(name, None, error.found, error.remedy))
    found = variant or _recognised_variant(directory / transcripts)
    parsed = parse_data_set(files, patch_missing_items=patch_missing_items, variant=found)
    return accept(Parsed(parsed.value, (*problems, *parsed.problems)))


def no_participants(folder: Path) -> list[str]:
    """What is in a folder of interviews beside those of participants and the manifest; hidden names are left out."""
    if not folder.is_dir():
        return []
    others = (path.name for path in folder.iterdir() if _PARTICIPANT_FOLDER.fullmatch(path.name) is None)
    return sorted(name for name in others if name != MANIFEST and not name.startswith("."))


def _recognised_variant(folder: Path) -> TranscriptVariant:
    manifest = folder / MANIFEST
    if not manifest.is_file():
        return variant_of_folder(folder.name)
    try:
        named = json.loads(read_file(manifest))["variant"]
    except (ValueError, TypeError, KeyError, RecursionError):
        named = None
    if named not in CLEANED:
        raise Refused(
            f"{manifest} names none of the variants {', '.join(CLEANED)}; correct it, or name the variant with "
            "--transcripts-variant."
        )
    return TranscriptVariant(named)


def _transcript_names(folder: Path) -> list[str]:
    """The transcript that each participant's folder has to hold, ids ascending, whether it is there or not."""
    if not folder.is_dir():
        return []
    matches = (_PARTICIPANT_FOLDER.fullmatch(path.name) for path in folder.iterdir() if path.is_dir())
    ids = sorted(int(match[1]) for match in matches if match)
    return [f"{folder.name}/{pid}_P/{pid}_TRANSCRIPT.csv" for pid in ids]


def tell_unread(folder: Path, known: Mapping[str, str], *, hint: Callable[[Path], str | None] | None = None) -> None:
    """Print on stderr the files of a folder that are not read, and what each may have been meant for.

    `known` are the names that are read, and what each has: of those that are absent, the nearest is named. `hint` is
    asked about files that are near to none. Hidden files and sub-folders are not named.
    """
    there = {path.name for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")}
    absent = [name for name in known if name not in there]

    def meant(name: str) -> str | None:
        if other := nearest(name, absent):
            return f"is it {other}, {known[other]}?"
        return None if hint is None else hint(folder / name)

    if unread := sorted(there - {*known}):
        named = [f"{name} ({words})" if (words := meant(name)) else name for name in unread]
        draw(f"Not read: {listed(named)}.", err=True)
