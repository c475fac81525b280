"""`ragq preset` and `ragq template`: the first checks of a user."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import DefaultPresetError, PresetExistsError, Refused, TemplateError
from schemas.settings.preset import ORIGINAL, Preset
from stages.queries.templates import TemplateTag, default_template
from store.database import Connection
from tests.cli.conftest import Ragq
from tests.refusals import slug_of

TAG = "query_expansion"


def shown(ragq: Ragq, *arguments: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(ragq("preset", "show", *arguments, "--json").output)
    return found


def test_the_default_preset_is_shown_when_none_is_named(ragq: Ragq) -> None:
    found = shown(ragq)

    assert (found["name"], found["is_default"], found["values"]) == ("Balanced", True, Preset().values())


def test_show_marks_differences_and_lists_allowed_values(ragq: Ragq) -> None:
    ragq("preset", "set", "balanced", "retrieval.rrf_k=60")

    lines = [line.split() for line in ragq("preset", "show").output.splitlines()]

    assert ["*", "retrieval.rrf_k", "60", "a", "whole", "number", "from", "1", "to", "100"] in [x[:10] for x in lines]
    assert ["retrieval.dense_limit", str(Preset().retrieval.dense_limit)] in [line[:2] for line in lines]


def test_a_preset_is_created_as_a_copy_with_changes(ragq: Ragq) -> None:
    ragq("preset", "create", "small", "augmentation.top_n_contexts=3", "--description", "few sources")

    created = ragq("preset", "create", "judged", "--from", "SMALL", "validation.enabled=true", "--json")

    values = json.loads(created.output)["values"]
    assert (values["augmentation.top_n_contexts"], values["validation.enabled"]) == (3, True)
    assert shown(ragq, "small")["description"] == "few sources"


def test_presets_are_listed_with_the_default_first(ragq: Ragq) -> None:
    for name in ("a", "b"):
        ragq("preset", "create", name)
    ragq("preset", "default", "b")

    listed = json.loads(ragq("preset", "list", "--json").output)

    assert [(stored["name"], stored["is_default"]) for stored in listed] == [
        ("b", True),
        ("a", False),
        ("Balanced", False),
        ("Original", False),
    ]
    assert ragq("preset", "list").output.splitlines()[1].split()[:3] == ["*", "b", "0"]


def test_a_list_has_the_values_of_presets_that_users_made(ragq: Ragq) -> None:
    ragq("preset", "create", "small", "augmentation.top_n_contexts=3", "retrieval.rrf_k=60")

    listed = {one["name"]: one for one in json.loads(ragq("preset", "list", "--json").output)}

    assert listed["small"] == shown(ragq, "small")
    assert listed["Original"] == shown(ragq, "Original")
    assert [line.split()[:2] for line in ragq("preset", "list").output.splitlines()[3:]] == [["small", "2"]]


def test_a_list_names_a_preset_that_cannot_be_read(ragq: Ragq, stored: Callable[..., Any]) -> None:
    async def spoil(connection: Connection) -> None:
        await connection.execute("UPDATE rag_config SET config = jsonb_set(config, '{retrieval,rrf_k}', '0')")

    stored(spoil)

    with pytest.raises(Refused, match=r"rrf_k is 0 \(stored in preset Balanced\)"):
        ragq("preset", "list", catch_exceptions=False)


def test_a_value_out_of_range_is_refused_with_every_problem(ragq: Ragq) -> None:
    refused = ragq("preset", "set", "Balanced", "retrieval.dense_limit=101", "retrieval.mmr_lambda=2", "x.y=1")

    assert isinstance(refused.exception, Refused)
    assert str(refused.exception).startswith("3 values of the preset cannot be used:")
    assert shown(ragq)["values"] == Preset().values()


def test_names_are_unique_in_any_case_and_the_default_cannot_be_deleted(ragq: Ragq) -> None:
    assert isinstance(ragq("preset", "create", "BALANCED").exception, PresetExistsError)
    assert isinstance(ragq("preset", "delete", "Balanced").exception, DefaultPresetError)
    assert slug_of(ragq("preset", "show", "gone").exception) == "preset-missing"
    assert isinstance(ragq("preset", "create", "a/b").exception, Refused)


def test_a_preset_that_is_not_the_default_can_be_deleted(ragq: Ragq) -> None:
    ragq("preset", "create", "Small")

    assert ragq("preset", "delete", "small").output == "Deleted preset 'Small'.\n"
    assert slug_of(ragq("preset", "show", "small").exception) == "preset-missing"


@pytest.mark.parametrize("arguments", [("Balanced",), ("Balanced", "dense_limit")])
def test_a_change_without_values_is_wrong_usage(ragq: Ragq, arguments: tuple[str, ...]) -> None:
    assert ragq("preset", "set", *arguments).exit_code == 2


def test_a_template_is_printed_as_it_is(ragq: Ragq) -> None:
    assert ragq("template", "show", TAG).output == default_template(TemplateTag.QUERY_EXPANSION)


def test_a_new_version_is_used_once_it_is_activated(ragq: Ragq, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("Put {query} in {n} ways.\n", encoding="utf-8")

    added = json.loads(ragq("template", "new", TAG, str(file), "--title", "Short", "--json").output)
    before = ragq("template", "show", TAG).output
    ragq("template", "activate", TAG, "2")

    assert (added["version"], added["is_active"]) == (2, False)
    assert before == default_template(TemplateTag.QUERY_EXPANSION)
    assert ragq("template", "show", TAG).output == "Put {query} in {n} ways.\n"
    listed = json.loads(ragq("template", "list", "--json").output)
    assert [(t["version"], t["is_active"]) for t in listed if t["tag"] == TAG] == [(1, False), (2, True)]


@pytest.mark.parametrize(
    ("used", "tag", "is_noted"),
    [
        ("short_answer", "rag_augmentation", True),
        ("rag_augmentation", "short_answer", True),
        ("short_answer", "short_answer", False),
        ("short_answer", TAG, False),
    ],
)
def test_activating_a_template_that_answers_are_not_asked_for_with_says_so(
    ragq: Ragq, used: str, tag: str, is_noted: bool
) -> None:
    noted = ragq("template", "activate", tag, "1", env={"RAGQ_ANSWER_TEMPLATE": used}).stderr

    note = f"Answers are asked for with {used} here; RAGQ_ANSWER_TEMPLATE={tag} uses this one."
    assert " ".join(noted.split()) == (note if is_noted else "")


def test_placeholders_are_checked_when_a_template_is_saved(ragq: Ragq, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("Put {question} in {n} ways.", encoding="utf-8")

    refused = ragq("template", "new", TAG, str(file), "--title", "Broken")

    assert isinstance(refused.exception, TemplateError)
    assert "{question} is unknown" in str(refused.exception)
    assert "{query} is missing" in str(refused.exception)
    assert len(json.loads(ragq("template", "list", "--json").output)) == len(TemplateTag)


def test_the_placeholders_are_explained(ragq: Ragq) -> None:
    found = json.loads(ragq("template", "show", TAG, "1", "--json").output)

    assert found["variables"].keys() == {"query", "n"}


def test_a_file_that_is_no_text_is_refused(ragq: Ragq, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_bytes(b"\xff\xfe")

    assert "is not UTF-8; save it as UTF-8 text" in str(
        ragq("template", "new", TAG, str(file), "--title", "x").exception
    )


def test_a_preset_is_compared_with_the_original(ragq: Ragq) -> None:
    differing = json.loads(ragq("preset", "diff", "balanced", "--json").output)

    assert differing["retrieval.fusion"] == {"Balanced": "zscore", "Original": "rrf"}
    assert differing.keys() == {key for key, value in Preset().values().items() if ORIGINAL.get(key, value) != value}
    assert "retrieval.min_word_count" in ragq("preset", "diff", "Balanced").output
    assert "have the same values" in ragq("preset", "diff", "Original").output
