"""DATA_BASE_DIR and DATA_TRANSCRIPTS_DIR, as ai-psychiatrist reads them."""

from pathlib import Path

import pytest

from tests.cli.conftest import Ragq
from tests.cli.test_daic_woz_files import write_transcript


@pytest.fixture
def env_file(ragq: Ragq) -> Path:
    """The .env file of the folder in which `ragq` runs, with both folders beside it."""
    write_transcript(Path("study/transcripts"), 303)
    write_transcript(Path("elsewhere/transcripts_clean"), 304)
    file = Path(".env")
    file.write_text("DATA_BASE_DIR=study\nDATA_TRANSCRIPTS_DIR=elsewhere/transcripts_clean\n")
    return file


def test_the_folders_of_the_environment_are_imported_and_shown(ragq: Ragq, env_file: Path) -> None:
    imported = ragq("import", "participants")

    assert imported.exit_code == 0
    assert imported.stdout.startswith("Imported 1 participant, 0 of them with item labels.\n")
    assert imported.stderr == (
        "Directory: study (DATA_BASE_DIR).\n"
        f"Transcripts: {env_file.absolute().parent}/elsewhere/transcripts_clean (DATA_TRANSCRIPTS_DIR).\n"
    )
    assert "No transcript is stored for participant 303" in str(ragq("submit", "--participants", "303").exception)
