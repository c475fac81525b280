"""Prompt templates and their placeholders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import TemplateError
from stages.queries.templates import RULES, TemplateTag, check_template, default_template, placeholders, render


@pytest.mark.parametrize("tag", TemplateTag)
def test_the_default_templates_are_templates_and_use_known_placeholders_alone(tag: TemplateTag) -> None:
    check_template(tag, default_template(tag))

    assert set(placeholders(default_template(tag))) <= set(RULES[tag].variables)


@pytest.mark.parametrize(
    ("template", "wrong"),
    [
        ("{query} {number}", r"\{number\} is unknown; there are \{query\}, \{n\}; \{n\} is missing"),
        ("{n}", r"\{query\} is missing"),
        ("{query} {n} {", "do not pair"),
        ("{query} {n} }", "do not pair"),
        ("{query.__class__} {n}", "not a placeholder"),
        ("{query[0]} {n}", "not a placeholder"),
        ("{query!r} {n}", "not a placeholder"),
        ("{query:>10} {n}", "not a placeholder"),
        ("{} {n}", "not a placeholder"),
        ('{"a": 1} {query} {n}', "not a placeholder"),
    ],
)
def test_a_text_that_is_no_template_is_refused_with_what_is_wrong(template: str, wrong: str) -> None:
    with pytest.raises(TemplateError, match=wrong):
        check_template(TemplateTag.QUERY_EXPANSION, template)


def test_an_augmentation_template_without_the_sources_is_refused() -> None:
    with pytest.raises(TemplateError, match=r"\{context_blocks\} or \{contexts\} is missing"):
        check_template(TemplateTag.RAG_AUGMENTATION, "{query} {intent}")


def test_a_placeholder_without_a_value_is_an_error() -> None:
    with pytest.raises(TemplateError, match=r"\{n\} is unknown; there are \{query\}"):
        render("{query} {n}", {"query": "q"})


@given(st.text(), st.text())
def test_values_are_inserted_unchanged(before: str, value: str) -> None:
    template = before.replace("{", "{{").replace("}", "}}") + "{query}"

    assert render(template, {"query": value}) == before + value
