"""`ragq preset` and `ragq template`: the first checks of a user."""

from schemas.errors import Refused
from tests.cli.conftest import Ragq, json_of
from tests.refusals import slug_of


def test_a_preset_is_created_as_a_copy_with_changes_and_made_the_default(ragq: Ragq) -> None:
    ragq("preset", "create", "small", "augmentation.top_n_contexts=3", "--description", "few sources")
    config = json_of(ragq, "preset", "create", "judged", "--from", "SMALL", "validation.enabled=true")["config"]
    changed = json_of(ragq, "preset", "set", "small", "--default")

    assert (config["augmentation"]["top_n_contexts"], config["validation"]["enabled"]) == (3, True)
    assert json_of(ragq, "preset", "show", "small")["description"] == "few sources"
    assert (changed["preset_name"], changed["is_default"]) == ("small", True)
    assert json_of(ragq, "preset", "show")["preset_name"] == "small"
    for arguments, slug in [
        (("create", "BALANCED"), "preset-exists"),
        (("delete", "small"), "preset-is-default"),
        (("show", "gone"), "preset-missing"),
    ]:
        assert slug_of(ragq("preset", *arguments).exception) == slug
    assert isinstance(ragq("preset", "create", "a/b").exception, Refused)


def test_whoever_activates_a_template_that_no_answer_is_asked_by_learns_of_it(ragq: Ragq) -> None:
    used, unused = (ragq("template", "activate", tag, "1") for tag in ("short_answer", "rag_augmentation"))

    assert "RAGQ_ANSWER_TEMPLATE" not in used.stderr
    assert "RAGQ_ANSWER_TEMPLATE=rag_augmentation uses this one" in unused.stderr
