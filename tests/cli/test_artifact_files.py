from collections.abc import Mapping
from pathlib import Path

import pytest

from cli.index import read_artifact_files
from schemas.errors import Refused
from schemas.settings.run import EmbeddingSettings
from stages.participants.artifacts import ArtifactFile
from tests.cli.conftest import Ragq
from tests.cli.test_imports import write_transcript
from tests.stages.participants.artifacts.builders import artifact_files

FILES = {ArtifactFile.VECTORS: b"vectors", ArtifactFile.TEXTS: b"texts", ArtifactFile.TAGS: b"tags"}


def write_files(folder: Path, files: Mapping[ArtifactFile, bytes]) -> Path:
    for file, data in files.items():
        (folder / f"small{file}").write_bytes(data)
    return folder / "small.npz"


def test_tags_and_scores_are_not_even_opened_unless_they_are_asked_for(tmp_path: Path) -> None:
    vectors = write_files(tmp_path, FILES)
    for suffix in (".tags.json", ".chunk_scores.json", ".chunk_scores.meta.json"):
        (tmp_path / f"small{suffix}").unlink(missing_ok=True)
        # To open a folder is an error.
        (tmp_path / f"small{suffix}").mkdir()

    assert read_artifact_files(vectors, EmbeddingSettings()).keys() == {ArtifactFile.VECTORS, ArtifactFile.TEXTS}
    with pytest.raises(Refused, match=r"small\.tags\.json is not a regular file"):
        read_artifact_files(vectors, EmbeddingSettings(enable_item_tag_filter=True))


def test_without_vectors_or_texts_there_is_no_index(tmp_path: Path) -> None:
    for missing in (ArtifactFile.VECTORS, ArtifactFile.TEXTS):
        vectors = write_files(tmp_path, FILES)
        (tmp_path / f"small{missing}").unlink()

        with pytest.raises(Refused, match=f"There is no .*small{missing}"):
            read_artifact_files(vectors, EmbeddingSettings())


PAPER = ("--profile", "paper", "--set", "EMBEDDING_DIMENSION=4")


def test_an_index_is_imported_but_not_under_the_name_of_another_split(ragq: Ragq) -> None:
    write_transcript(Path("data/transcripts"), 316)
    ragq("import", "participants", "data")
    write_files(Path(), artifact_files())
    refused = ragq("index", "import", "small.npz", *PAPER, "--name", "x_avec_train").exception
    assert str(refused) == (
        "The name 'x_avec_train' names avec-train, and the files were built from paper-train; nothing was imported. "
        "Import them with `--name x_paper_train`."
    )
    assert ragq("index", "import", "small.npz", *PAPER, "--name", "x_paper_train").exit_code == 0
    assert ragq("index", "import", "small.npz", *PAPER).stdout == (
        "Imported index 'small' (data/paper-train, transcripts unknown): 2 participants, 3 chunks.\n"
    )
