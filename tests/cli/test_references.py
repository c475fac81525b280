from pathlib import Path

import pytest

from tests.cli.conftest import Ragq
from tests.cli.test_artifact_files import write_files
from tests.stages.participants.artifacts.builders import artifact_files

PAPER = ("--profile", "paper", "--set", "EMBEDDING_DIMENSION=4")


def test_an_index_is_imported(ragq: Ragq) -> None:
    write_files(Path(), artifact_files())

    done = ragq("index", "import", "small.npz", *PAPER)
    assert (done.exit_code, done.stdout) == (
        0,
        "Imported index 'small' (data/paper-train, transcripts unknown): 2 participants, 3 chunks.\n",
    )


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
    ragq: Ragq, arguments: tuple[str, ...], message: str
) -> None:
    write_files(Path(), artifact_files())

    assert str(ragq("index", "import", "small.npz", *PAPER, *arguments).exception) == message
    assert ragq("index", "import", "small.npz", *PAPER, *message.split("`")[1].split(), *arguments[2:]).exit_code == 0
