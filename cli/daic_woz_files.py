"""Finds and reads the files of a folder in the DAIC-WOZ layout. `stages/participants/daic_woz.py` interprets them."""

import json
import re
from pathlib import Path

from cli.user_files import FileRefused, read_file
from schemas.errors import Refused
from schemas.values.interviews import DataSet, FileProblem
from schemas.values.transcript_variants import TranscriptVariant
from stages.files.problems import Parsed, accept
from stages.participants.daic_woz import GENDER_LABEL_FILE, ITEM_LABEL_FILES, TOTAL_LABEL_FILE, parse_data_set
from stages.participants.paper_metadata import METADATA_FILE
from stages.participants.split_names import PAPER_FILES
from stages.participants.variants import CLEANED, variant_of_folder

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
            problems.append(FileProblem(file=name, line=None, found=error.found, what_to_do=error.remedy))
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
