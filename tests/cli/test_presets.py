"""`ragq preset` and `ragq template`: the first checks of a user."""

import json
from pathlib import Path

from schemas.errors import DefaultPresetError, PresetExistsError, Refused, TemplateError
from schemas.settings.preset import Preset
from stages.queries.templates import TemplateTag, default_template
from tests.cli.conftest import Ragq
from tests.refusals import slug_of

TAG = "query_expansion"


def shown(ragq: Ragq, *arguments: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(ragq("preset", "show", *arguments, "--json").output)
    return found


def test_a_preset_is_created_as_a_copy_with_changes(ragq: Ragq) -> None:
    ragq("preset", "create", "small", "augmentation.top_n_contexts=3", "--description", "few sources")

    created = ragq("preset", "create", "judged", "--from", "SMALL", "validation.enabled=true", "--json")

    values = json.loads(created.output)["values"]
    assert (values["augmentation.top_n_contexts"], values["validation.enabled"]) == (3, True)
    assert shown(ragq, "small")["description"] == "few sources"


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


def test_placeholders_are_checked_when_a_template_is_saved(ragq: Ragq, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("Put {question} in {n} ways.", encoding="utf-8")

    refused = ragq("template", "new", TAG, str(file), "--title", "Broken")

    assert isinstance(refused.exception, TemplateError)
    assert "{question} is unknown" in str(refused.exception)
    assert "{query} is missing" in str(refused.exception)
    assert len(json.loads(ragq("template", "list", "--json").output)) == len(TemplateTag)


def test_a_file_that_is_no_text_is_refused(ragq: Ragq, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_bytes(b"\xff\xfe")

    assert "is not UTF-8; save it as UTF-8 text" in str(
        ragq("template", "new", TAG, str(file), "--title", "x").exception
    )


def test_a_preset_is_made_the_default(ragq: Ragq) -> None:
    ragq("preset", "create", "small")

    changed = json.loads(ragq("preset", "set", "small", "--default", "--json").stdout)

    assert (changed["name"], changed["is_default"]) == ("small", True)
    assert json.loads(ragq("preset", "show", "--json").stdout)["name"] == "small"
