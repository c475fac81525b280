import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from cli.artifact_files import write_artifact_files
from cli.references import references_group
from schemas.errors import EmbeddingArtifactMismatchError, Refused
from tests.stages.participants.artifacts.builders import META, VECTORS, artifact_files, as_json

PAPER = ("--profile", "paper", "--set", "EMBEDDING_DIMENSION=4")


@pytest.fixture
def ragq(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs `ragq references` in an empty folder."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(references_group, arguments)

    return run


def test_an_index_is_imported_and_exported(ragq: Callable[..., Result], tmp_path: Path) -> None:
    write_artifact_files(Path("small.npz"), artifact_files(), force=False)

    done = ragq("import", "small.npz", *PAPER)
    assert (done.exit_code, done.stdout) == (
        0,
        "Imported index 'small' (data/paper-train, transcripts unknown): 2 participants, 3 chunks.\n",
    )

    done = ragq("export", "small", "--directory", "out", "--json")
    assert json.loads(done.stdout) == ["out/small.npz", "out/small.json", "out/small.meta.json"]
    with np.load("out/small.npz", allow_pickle=False) as arrays:
        assert arrays["emb_303"].tobytes() == VECTORS[303].tobytes()


def test_without_a_file_the_one_of_the_settings_is_imported(ragq: Callable[..., Result]) -> None:
    write_artifact_files(Path("data/embeddings/mine.npz"), artifact_files(), force=False)

    done = ragq("import", *PAPER, "--set", "EMBEDDING_EMBEDDINGS_FILE=mine")

    assert done.stdout == "Imported index 'mine' (data/paper-train, transcripts unknown): 2 participants, 3 chunks.\n"


def test_an_explicit_path_is_imported_under_the_name_that_runs_look_for(
    ragq: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_artifact_files(Path("elsewhere/small.npz"), artifact_files(), force=False)
    monkeypatch.setenv("DATA_EMBEDDINGS_PATH", "elsewhere/small.npz")

    done = ragq("import", *PAPER, "--set", "EMBEDDING_EMBEDDINGS_FILE=mine")

    assert done.stdout == "Imported index 'mine' (data/paper-train, transcripts unknown): 2 participants, 3 chunks.\n"


def test_sidecars_that_are_not_asked_for_may_be_broken(ragq: Callable[..., Result]) -> None:
    write_artifact_files(Path("small.npz"), artifact_files(TAGS=b"\xff", CHUNK_SCORES=b"\xff"), force=False)

    assert ragq("import", "small.npz", *PAPER).exit_code == 0
    assert isinstance(ragq("import", "small.npz", *PAPER, "--tags").exception, EmbeddingArtifactMismatchError)
    assert isinstance(ragq("import", "small.npz", *PAPER, "--chunk-scores").exception, EmbeddingArtifactMismatchError)


def test_warnings_are_not_part_of_the_result(ragq: Callable[..., Result]) -> None:
    write_artifact_files(Path("small.npz"), artifact_files(META=None), force=False)

    done = ragq("import", "small.npz", *PAPER, "--name", "other", "--json")

    assert json.loads(done.stdout)["name"] == "other"
    assert done.stderr.splitlines()[0] == (
        "Warning: small.meta.json: is missing; assumed to be built with the current settings"
    )


def test_an_export_overwrites_nothing_unasked(ragq: Callable[..., Result]) -> None:
    write_artifact_files(Path("data/embeddings/small.npz"), artifact_files(), force=False)
    ragq("import", "data/embeddings/small.npz", *PAPER)

    assert isinstance(ragq("export", "small").exception, Refused)
    assert ragq("export", "small", "--force").exit_code == 0
    assert sorted(path.name for path in Path("data/embeddings").iterdir()) == [
        "small.json",
        "small.meta.json",
        "small.npz",
    ]


def test_help_of_export_warns_that_transcript_text_is_written(ragq: Callable[..., Result]) -> None:
    assert "transcript text in plain form" in ragq("export", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--name", "x_avec_train"),
            "The name 'x_avec_train' names avec-train, and the files were built from paper-train; nothing was "
            "imported. Import them with `--name x_paper_train`.",
        ),
        (
            ("--name", "x_participant_qa", "--variant", "raw"),
            "The name 'x_participant_qa' names participant_qa, and the files were built from paper-train and raw; "
            "nothing was imported. Import them with `--name x_paper_train`.",
        ),
    ],
)
def test_an_index_is_not_imported_under_the_name_of_another_split_or_variant(
    ragq: Callable[..., Result], arguments: tuple[str, ...], message: str
) -> None:
    write_artifact_files(Path("small.npz"), artifact_files(), force=False)

    assert str(ragq("import", "small.npz", *PAPER, *arguments).exception) == message
    assert ragq("import", "small.npz", *PAPER, *message.split("`")[1].split(), *arguments[2:]).exit_code == 0


def test_files_that_name_no_split_and_variant_have_those_of_their_name(ragq: Callable[..., Result]) -> None:
    bare = {name: value for name, value in META.items() if name not in ("split", "split_ids_hash", "split_csv_hash")}
    files = artifact_files(META=as_json(bare))
    write_artifact_files(Path("x_avec_train_participant_only.npz"), files, force=False)

    done = ragq("import", "x_avec_train_participant_only.npz", *PAPER, "--json")

    found = json.loads(done.stdout)
    assert (found["split"], found["variant"]) == ("train", "participant_only")
    exported = ragq("export", f"{found['name']}@{found['identity']}", "--directory", "out")
    assert exported.exit_code == 0
    written = json.loads(Path("out/x_avec_train_participant_only.meta.json").read_text())
    assert (written["split"], written["transcript_variant"]) == ("avec-train", "participant_only")
