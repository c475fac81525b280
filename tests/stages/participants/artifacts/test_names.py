"""Names of reference artifacts."""

import pytest

from schemas.values.participants import TranscriptVariant
from stages.participants.index_names import answers_to, built_name, named_parts


@pytest.mark.parametrize(
    ("name", "split", "variant", "rest"),
    [
        ("x-AVEC-train_v2", "avec-train", None, "x_v2"),
        ("paper_train", "paper-train", None, ""),
        ("newspaper_train", None, None, "newspaper_train"),
        ("draw", None, None, "draw"),
        ("x_raw", None, "raw", "x"),
    ],
)
def test_a_name_names_a_split_and_a_variant(name: str, split: str | None, variant: str | None, rest: str) -> None:
    assert named_parts(name) == (split, variant, rest)


@pytest.mark.parametrize(
    ("name", "split", "variant", "built"),
    [
        ("x_paper_train_participant_only", "avec-train", "participant_only", "x_avec_train_participant_only"),
        ("x_paper_train_participant_only", "paper-train", "unknown", "x_paper_train_participant_only"),
        ("x_paper_train", "paper-train", "participant_qa", "x_paper_train_participant_qa"),
        ("avec_train", "paper-train", "raw", "paper_train"),
        ("x_clinic_a_raw", "clinic-a", "raw", "x_clinic_a_raw"),
        ("x", "Clinic.A+2", "participant_qa", "x_clinic_a_2_participant_qa"),
        # A word of the model is no split, only one at the end.
        ("x_minilm_v2_paper_train", "minilm", "raw", "x_minilm_v2_minilm"),
    ],
)
def test_a_built_name_names_its_split_and_variant(name: str, split: str, variant: str, built: str) -> None:
    found = built_name(name, split, TranscriptVariant(variant))
    answers = (answers_to(found, asked, split) for asked in (found, name))
    assert (found, *answers) == (built, True, built.startswith(name))


def test_an_index_answers_to_a_name_that_says_no_more_than_it_is() -> None:
    for index, asked, is_answer in (
        ("x_paper_train_participant_only", "x_paper_train", True),
        ("x_paper_train", "x_paper_train_participant_only", False),
        ("x_paper_train", "x_avec_train", False),
        ("x", "x_paper_train", False),
        ("y_avec_train", "x", False),
    ):
        assert answers_to(index, asked) is is_answer
