"""Prompt templates as JSON."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from api.parameters import Text
from api.rest.bodies.base import Body, Reply, with_example

Title = Annotated[Text, StringConstraints(min_length=1, max_length=255)]
Content = Annotated[Text, StringConstraints(min_length=1, max_length=100_000)]


class TemplateBody(Body):
    """A text to store as the next version."""

    title: Title = Field(examples=["More angles"])
    """A short description of the change."""
    template_content: Content = Field(
        repr=False, examples=["Write {n} ways to search for an answer to this question:\n{query}"]
    )
    """A placeholder is a name in braces, {query}; a literal brace is doubled."""


class VersionBody(Body):
    """What to change about a version."""

    model_config = with_example(title="More angles, second try")

    title: Title | None = None
    template_content: Content | None = Field(default=None, repr=False)
    """Another text than that of the version is stored as the next version."""


class Variable(Reply):
    """A placeholder."""

    variable_name: str = Field(examples=["query"])
    variable_description: str = Field(examples=["The question, fenced as data"])


class VersionReply(Reply):
    """One version of a template. Its text never changes."""

    id: int = Field(examples=[1])
    function_tag: str = Field(examples=["query_expansion"])
    version: int = Field(examples=[1])
    title: str = Field(examples=["Query expansion"])
    template_content: str = Field(
        repr=False, examples=["Write {n} ways to search for an answer to this question:\n{query}"]
    )
    is_active: bool
    """New prompts use it."""
    created_at: datetime
    updated_at: datetime


class VersionAndVariablesReply(VersionReply):
    """One version of a template, with its allowed placeholders."""

    variables: list[Variable]


class TemplateReply(Reply):
    """A template with all of its versions."""

    function_tag: str = Field(examples=["query_expansion"])
    variables: list[Variable]
    """The allowed placeholders."""
    active_version: int | None = Field(examples=[1])
    versions: list[VersionReply]


class TemplatesReply(Reply):
    """Every template."""

    templates: list[TemplateReply]
