"""Parser of a complete data set in the DAIC-WOZ layout: the bytes of its files to one consistent DataSet."""

import re
from collections.abc import Iterator, Mapping, Sequence

from schemas.values.interviews import DataSet, FileProblem, Labels
from schemas.values.transcript_variants import TranscriptVariant
from stages.files.problems import Parsed
from stages.participants.labels import parse_gender_labels, parse_item_labels, parse_total_labels
from stages.participants.paper_metadata import METADATA_FILE, check_paper_metadata
from stages.participants.split_names import PAPER_FILES
from stages.participants.splits import parse_split, split_of
from stages.participants.transcripts import parse_transcript

ITEM_LABEL_FILES: Mapping[str, str] = {
    "train": "train_split_Depression_AVEC2017.csv",
    "dev": "dev_split_Depression_AVEC2017.csv",
}
"""Split name -> the file of its participants with all labels."""
TOTAL_LABEL_FILE = "full_test_split.csv"
GENDER_LABEL_FILE = "test_split_Depression_AVEC2017.csv"

_TRANSCRIPT_FILE = re.compile(r"[^/]+/([1-9][0-9]{0,5})_P/\1_TRANSCRIPT\.csv")


def parse_data_set(
    files: Mapping[str, bytes],
    *,
    patch_missing_items: bool = False,
    variant: TranscriptVariant = TranscriptVariant.UNKNOWN,
) -> Parsed[DataSet]:
    """Read every file of the layout; names are relative to the data set, with slashes. Other names are ignored.

    `variant` is that of the transcripts. Each kind of file may be absent, and no number of rows is required. The
    problems of all files are reported together. If every file is valid by itself, the files are compared: no
    participant is in two AVEC splits or in two paper splits, paper participants have item labels, the paper metadata
    agrees with its CSVs, the two test files agree on gender, and participants of a split other than test have a
    transcript (if there are transcripts at all).
    """
    transcripts = {
        int(match[1]): parse_transcript(data, file=file, participant_id=int(match[1]), variant=variant)
        for file, data in files.items()
        if (match := _TRANSCRIPT_FILE.fullmatch(file))
    }
    labels = {
        file: parse_item_labels(files[file], file=file, patch_missing_items=patch_missing_items)
        for file in ITEM_LABEL_FILES.values()
        if file in files
    }
    if TOTAL_LABEL_FILE in files:
        labels[TOTAL_LABEL_FILE] = parse_total_labels(files[TOTAL_LABEL_FILE], file=TOTAL_LABEL_FILE)
    if GENDER_LABEL_FILE in files:
        labels[GENDER_LABEL_FILE] = parse_gender_labels(files[GENDER_LABEL_FILE], file=GENDER_LABEL_FILE)
    paper = {
        name: parse_split(files[file], file=file, name=name) for name, file in PAPER_FILES.items() if file in files
    }
    avec = {
        name: split_of(name, [label.participant_id for label in labels[file].value], data=files[file])
        for name, file in ITEM_LABEL_FILES.items()
        if file in files
    }
    # The later files have fewer labels, so the first row on each participant is kept.
    by_participant = {label.participant_id: label for parsed in reversed(labels.values()) for label in parsed.value}
    data_set = DataSet(
        transcripts={participant_id: transcripts[participant_id].value for participant_id in sorted(transcripts)},
        labels=dict(sorted(by_participant.items())),
        splits=avec | {name: parsed.value for name, parsed in paper.items()},
    )
    parts: list[Parsed[object]] = [*transcripts.values(), *labels.values(), *paper.values()]
    problems = tuple(problem for parsed in parts for problem in parsed.problems)
    if not parts:
        what_to_do = "name the folder that holds transcripts/ and the label files"
        problems = (FileProblem(file=".", line=None, found="no file of the DAIC-WOZ layout", what_to_do=what_to_do),)
    if not problems:
        problems = (
            *_labelled_twice({file: parsed.value for file, parsed in labels.items()}),
            *_in_two_paper_splits(data_set),
            *_without_item_labels(data_set),
            *_without_transcript(data_set),
        )
        if METADATA_FILE in files:
            problems += tuple(check_paper_metadata(files[METADATA_FILE], splits=data_set.splits))
    return Parsed(data_set, problems)


def _labelled_twice(labels: Mapping[str, Sequence[Labels]]) -> Iterator[FileProblem]:
    first: dict[int, tuple[str, Labels]] = {}
    for file, rows in labels.items():
        for label in rows:
            earlier_file, earlier = first.setdefault(label.participant_id, (file, label))
            if earlier is label:
                continue
            who = f"participant {label.participant_id}"
            if (earlier_file, file) != (TOTAL_LABEL_FILE, GENDER_LABEL_FILE):
                yield _difference(file, f"{who} is also in {earlier_file}", "keep one of them")
            elif earlier.gender != label.gender:
                yield _difference(file, f"{who} has another gender in {earlier_file}", "make the two agree")


def _in_two_paper_splits(data_set: DataSet) -> Iterator[FileProblem]:
    first: dict[int, str] = {}
    for name, file in PAPER_FILES.items():
        ids = data_set.splits[name].participant_ids if name in data_set.splits else ()
        for participant_id in ids:
            earlier = first.setdefault(participant_id, name)
            if earlier != name:
                yield _difference(file, f"participant {participant_id} is also in {earlier}", "keep one of them")


def _without_item_labels(data_set: DataSet) -> Iterator[FileProblem]:
    if not data_set.splits.keys() & ITEM_LABEL_FILES.keys():
        return
    labelled = {participant_id for participant_id, label in data_set.labels.items() if label.items is not None}
    for name, file in PAPER_FILES.items():
        ids = data_set.splits[name].participant_ids if name in data_set.splits else ()
        missing = sorted(set(ids) - labelled)
        if missing:
            found = f"participants {', '.join(map(str, missing))} have no item labels"
            yield _difference(file, found, f"add them to {' or '.join(ITEM_LABEL_FILES.values())}")


def _without_transcript(data_set: DataSet) -> Iterator[FileProblem]:
    if not data_set.transcripts:
        return
    for name, split in data_set.splits.items():
        missing = sorted(set(split.participant_ids) - data_set.transcripts.keys())
        if missing:
            file = {**ITEM_LABEL_FILES, **PAPER_FILES}[name]
            found = f"participants {', '.join(map(str, missing))} have no transcript"
            yield _difference(file, found, "add <id>_P/<id>_TRANSCRIPT.csv for each, or remove them")


def _difference(file: str, found: str, what_to_do: str) -> FileProblem:
    return FileProblem(file=file, line=None, found=found, what_to_do=what_to_do)
