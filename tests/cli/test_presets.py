"""`ragq preset` and `ragq template`: the first checks of a user."""

import json

from schemas.errors import Refused
from tests.cli.conftest import Ragq
from tests.refusals import slug_of


def shown(ragq: Ragq, *arguments: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(ragq("preset", "show", *arguments, "--json").output)
    return found


def test_a_preset_is_created_as_a_copy_with_changes(ragq: Ragq) -> None:
    ragq("preset", "create", "small", "augmentation.top_n_contexts=3", "--description", "few sources")

    created = ragq("preset", "create", "judged", "--from", "SMALL", "validation.enabled=true", "--json")

    config = json.loads(created.output)["config"]
    assert (config["augmentation"]["top_n_contexts"], config["validation"]["enabled"]) == (3, True)
    assert shown(ragq, "small")["description"] == "few sources"


def test_names_are_unique_in_any_case_and_the_default_cannot_be_deleted(ragq: Ragq) -> None:
    assert slug_of(ragq("preset", "create", "BALANCED").exception) == "preset-exists"
    assert slug_of(ragq("preset", "delete", "Balanced").exception) == "preset-is-default"
    assert slug_of(ragq("preset", "show", "gone").exception) == "preset-missing"
    assert isinstance(ragq("preset", "create", "a/b").exception, Refused)


def test_a_preset_is_made_the_default(ragq: Ragq) -> None:
    ragq("preset", "create", "small")

    changed = json.loads(ragq("preset", "set", "small", "--default", "--json").stdout)

    assert (changed["preset_name"], changed["is_default"]) == ("small", True)
    assert json.loads(ragq("preset", "show", "--json").stdout)["preset_name"] == "small"


def test_whoever_activates_a_template_that_no_answer_is_asked_by_learns_of_it(ragq: Ragq) -> None:
    used, unused = (ragq("template", "activate", tag, "1") for tag in ("short_answer", "rag_augmentation"))

    assert "RAGQ_ANSWER_TEMPLATE" not in used.stderr
    assert "RAGQ_ANSWER_TEMPLATE=rag_augmentation uses this one" in unused.stderr
