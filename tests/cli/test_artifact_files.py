from pathlib import Path

import pytest

from cli.references import ArtifactNotFoundError, read_artifact_files, write_artifact_files
from schemas.errors import Refused
from stages.participants.artifacts.names import ArtifactFile

FILES = {ArtifactFile.VECTORS: b"vectors", ArtifactFile.TEXTS: b"texts", ArtifactFile.TAGS: b"tags"}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_tags_and_scores_are_not_even_opened_unless_they_are_asked_for(tmp_path: Path) -> None:
    vectors = write_artifact_files(tmp_path / "small.npz", {**FILES}, force=False)[0]
    for suffix in (".tags.json", ".chunk_scores.json", ".chunk_scores.meta.json"):
        (tmp_path / f"small{suffix}").unlink(missing_ok=True)
        # To open a folder is an error.
        (tmp_path / f"small{suffix}").mkdir()

    assert read_artifact_files(vectors, asked_for=()).keys() == {ArtifactFile.VECTORS, ArtifactFile.TEXTS}
    with pytest.raises(Refused, match=r"small\.tags\.json is not a regular file"):
        read_artifact_files(vectors, asked_for=[ArtifactFile.TAGS])


@pytest.mark.parametrize("missing", [ArtifactFile.VECTORS, ArtifactFile.TEXTS])
def test_without_vectors_or_texts_there_is_no_index(tmp_path: Path, missing: ArtifactFile) -> None:
    vectors = tmp_path / "small.npz"
    write_artifact_files(vectors, {file: data for file, data in FILES.items() if file != missing}, force=False)

    with pytest.raises(ArtifactNotFoundError, match=f"There is no .*small{missing}") as refusal:
        read_artifact_files(vectors, asked_for=())
    assert isinstance(refusal.value, FileNotFoundError)


def test_files_of_the_name_are_never_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "small.chunk_scores.json").write_bytes(b"of another index")

    with pytest.raises(Refused, match=r"small\.chunk_scores\.json in .* would be overwritten; use --force"):
        write_artifact_files(tmp_path / "small.npz", FILES, force=False)

    assert names(tmp_path) == ["small.chunk_scores.json"]


def test_force_leaves_no_file_of_the_older_index(tmp_path: Path) -> None:
    write_artifact_files(tmp_path / "small.npz", {**FILES, ArtifactFile.PARTIAL: b"old"}, force=False)
    newer = {ArtifactFile.VECTORS: b"new vectors", ArtifactFile.TEXTS: b"new texts"}

    write_artifact_files(tmp_path / "small.npz", newer, force=True)

    assert names(tmp_path) == ["small.json", "small.npz"]
    assert read_artifact_files(tmp_path / "small.npz", asked_for=()) == newer
