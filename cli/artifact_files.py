"""Finds, reads and writes the files of a reference index. `services/artifacts.py` interprets them."""

from collections.abc import Collection, Mapping
from pathlib import Path

from cli.user_files import read_file
from schemas.errors import Refused
from stages.participants.artifacts.names import ArtifactFile

#: Read only when they are asked for: otherwise they may be missing, broken or of another index.
ON_REQUEST = frozenset({ArtifactFile.TAGS, ArtifactFile.CHUNK_SCORES, ArtifactFile.CHUNK_SCORES_META})

_REQUIRED = (ArtifactFile.VECTORS, ArtifactFile.TEXTS)


class ArtifactNotFoundError(Refused, FileNotFoundError):
    """The vectors or the texts of an index are not where they were looked for."""


def read_artifact_files(vectors: Path, *, asked_for: Collection[ArtifactFile]) -> dict[ArtifactFile, bytes]:
    """The files beside an `.npz`, and itself. Vectors and texts have to be there; others may be missing.

    Tags and chunk scores are not opened unless they are in `asked_for`. Raises ArtifactNotFoundError, and Refused for
    a file that cannot be read.
    """
    if vectors.suffix != ArtifactFile.VECTORS:
        raise Refused(
            f"{vectors} is not the name of an .npz file; name that one, the others are found in the same folder."
        )
    files = {}
    for file in ArtifactFile:
        path = sibling(vectors, file)
        if file in ON_REQUEST and file not in asked_for:
            continue
        if path.exists():
            files[file] = read_file(path)
        elif file in _REQUIRED:
            raise ArtifactNotFoundError(
                f"There is no {path}. An index is at least NAME.npz with the vectors and NAME.json with the texts."
            )
    return files


def write_artifact_files(vectors: Path, files: Mapping[ArtifactFile, bytes], *, force: bool) -> list[Path]:
    """Write the files beside each other; what was written, in the order of ArtifactFile.

    Each is written under another name and then renamed, the vectors last: a set without them is not read, so that a
    crash leaves no mixed set that looks whole. Files of an index of the name that are there already, also of a kind
    that is not written now, are refused or, with `force`, replaced. Raises Refused.
    """
    there = [path for file in ArtifactFile if (path := sibling(vectors, file)).exists()]
    if there and not force:
        raise Refused(
            f"{', '.join(path.name for path in there)} in {vectors.parent} would be overwritten; use --force to "
            "replace them, or name another folder with --directory."
        )
    try:
        vectors.parent.mkdir(parents=True, exist_ok=True)
        for file, data in files.items():
            _unfinished(vectors, file).write_bytes(data)
        for path in there:
            path.unlink()
        for file in sorted(files, key=lambda file: file is ArtifactFile.VECTORS):
            _unfinished(vectors, file).rename(sibling(vectors, file))
    except OSError as error:
        raise Refused(f"{vectors.parent} cannot be written to ({error.strerror}).") from None
    return [sibling(vectors, file) for file in ArtifactFile if file in files]


def sibling(vectors: Path, file: ArtifactFile) -> Path:
    """Another file of the index whose vectors these are."""
    return vectors.with_name(vectors.name.removesuffix(ArtifactFile.VECTORS) + file)


def _unfinished(vectors: Path, file: ArtifactFile) -> Path:
    return sibling(vectors, file).with_name(f".{sibling(vectors, file).name}.unfinished")
