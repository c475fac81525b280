import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from cli.daic_woz_files import read_directory
from demo.data_set import data_set_files, write_data_set
from schemas.errors import Refused
from schemas.values.interviews import DataSet
from schemas.values.transcript_variants import TranscriptVariant
from stages.participants.daic_woz import parse_data_set
from stages.participants.published_splits import PUBLISHED_IDS, PUBLISHED_SPLITS
from stages.participants.splits import resolve_split

TREE_SHA256 = "420afa4fa0e457d7c40dafa4c188d1cba07c6a5bc3ea9e42675db8d102448b56"


@pytest.fixture(scope="session")
def data_set(files: Mapping[str, bytes]) -> DataSet:
    return parse_data_set(files, variant=TranscriptVariant.RAW).value


def test_the_default_seed_gives_these_bytes_on_every_machine(files: Mapping[str, bytes]) -> None:
    tree = hashlib.sha256()
    for name in sorted(files):
        tree.update(name.encode() + b"\0" + hashlib.sha256(files[name]).digest())
    assert tree.hexdigest() == TREE_SHA256


def test_another_seed_gives_other_interviews(files: Mapping[str, bytes]) -> None:
    name = "transcripts/303_P/303_TRANSCRIPT.csv"
    assert data_set_files(1)[name] != files[name]


def test_the_importer_has_no_problem_with_it(files: Mapping[str, bytes]) -> None:
    assert parse_data_set(files).problems == ()


def test_what_is_written_reads_back(tmp_path: Path, data_set: DataSet) -> None:
    write_data_set(tmp_path)
    assert read_directory(tmp_path) == data_set


def test_writing_twice_changes_nothing(tmp_path: Path, files: Mapping[str, bytes]) -> None:
    write_data_set(tmp_path)
    write_data_set(tmp_path)
    written = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in written.items()} == files


@pytest.mark.parametrize("name", ["303_AUDIO.wav", "README.txt"])
def test_other_files_are_never_written_over(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"mine")
    with pytest.raises(Refused, match=f"already holds {name}, which is not of this data set"):
        write_data_set(tmp_path)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(name, b"mine")]


def test_the_splits_have_the_sizes_of_the_real_ones(data_set: DataSet) -> None:
    sizes = {name: len(split.participant_ids) for name, split in data_set.splits.items()}
    assert sizes == {"train": 107, "dev": 35, "paper-train": 58, "paper-val": 43, "paper-test": 41}
    assert sorted(resolve_split("train+dev", data_set).participant_ids) == list(PUBLISHED_IDS)


def test_it_is_marked_as_synthetic(files: Mapping[str, bytes]) -> None:
    metadata = json.loads(files["paper_splits/paper_split_metadata.json"])
    assert files["README.txt"].startswith(b"SYNTHETIC DATA.")
    assert metadata["synthetic"] and metadata["description"].startswith("SYNTHETIC DATA.")
    assert metadata["participant_ids"] == {name: list(ids) for name, ids in PUBLISHED_SPLITS.items()}


def test_interviews_have_60_to_200_turns(data_set: DataSet) -> None:
    turns = [len(transcript.utterances) for transcript in data_set.transcripts.values()]
    assert 60 <= min(turns) <= max(turns) <= 200


def test_a_demo_has_enough_cases(data_set: DataSet) -> None:
    cases = sum(bool(labels.phq8_binary) for labels in data_set.labels.values())
    assert 0.2 < cases / len(data_set.labels) < 0.4


def test_participants_hardly_repeat_each_other(data_set: DataSet) -> None:
    speakers: dict[str, set[int]] = {}
    utterances = [
        (participant_id, utterance.value)
        for participant_id, transcript in data_set.transcripts.items()
        for utterance in transcript.utterances
        if utterance.speaker == "Participant" and len(utterance.value.split()) > 3
    ]
    for participant_id, value in utterances:
        speakers.setdefault(value, set()).add(participant_id)
    assert sum(len(speakers[value]) > 1 for _, value in utterances) / len(utterances) < 0.02
