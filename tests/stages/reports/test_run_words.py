"""The description of a run for people."""

from stages.reports.run_words import (
    CIRCULAR_NOTICE,
    DEMO_MODEL_NOTICE,
    DEMO_NOTICES,
    NEIGHBOURS_NOTICE,
    asked_for,
    notices,
)


def test_the_request_is_described_in_names_and_numbers() -> None:
    request = {"limit": 5, "split": "paper-test", "corpus": None, "profile_source": "option"}
    assert asked_for(request) == "paper-test 5"
    assert asked_for({}) == ""


def test_notices_name_what_was_cut_of_an_index() -> None:
    assert list(notices("participant", "paper", {"cut_chunks": {"cut": 3, "chunks": 326}})) == [
        "3 of the 326 chunks of the reference index are longer than the embedder reads, and were cut for it; prompts "
        "show them whole."
    ]


def test_notices_name_the_demo_left_out_references_and_circular_scores() -> None:
    request = {"left_out_references": [303, 304], "chunk_scores": {"is_circular": True}}
    assert list(notices("participant", "demo", request)) == [
        DEMO_NOTICES["participant"],
        "The reference index lacks participant 303, 304.",
        CIRCULAR_NOTICE,
    ]


def test_scores_by_a_prompt_that_is_not_ragqs_are_named_with_it() -> None:
    request = {"chunk_scores": {"scorer_model": "gemma3:27b", "is_circular": False, "other_prompt": "0123456789ab"}}
    assert list(notices("participant", "paper", request)) == [
        "Chunk scores of the references: by gemma3:27b with a prompt that is not ragq's (0123456789ab)."
    ]


def test_kinds_that_ask_no_model_of_the_profile_have_no_notice() -> None:
    assert list(notices("index", "demo", {"chunk_scores": None})) == []
    assert list(notices("query", "paper", {})) == []


def test_the_demo_model_is_noticed_once_whatever_the_profile() -> None:
    request = {"demo_model": True}

    assert list(notices("participant", "paper", request)) == [DEMO_MODEL_NOTICE]
    assert list(notices("participant", "demo", request)) == [DEMO_NOTICES["participant"]]
    assert list(notices("participant", "paper", {"demo_model": False, "scorer": "model"})) == []
    assert list(notices("participant", "local", {"demo_model": False, "scorer": "neighbours"})) == [NEIGHBOURS_NOTICE]
