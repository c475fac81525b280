"""Settings as JSON, in the form of the original's client."""

from typing import Annotated

from fastapi import Path
from pydantic import Field, StringConstraints

from api.rest.bodies.base import Body, Reply, with_example
from schemas.values.base import Text
from schemas.values.runs import SettingValue
from store.questions.templates import StoredTemplate

Value = Annotated[Text, StringConstraints(max_length=1000)]


class DatabaseReply(Reply):
    """The database, without its password."""

    host: str = Field(examples=["127.0.0.1"])
    port: int = Field(examples=[5432])
    db_name: str = Field(examples=["ragq"])
    app_user: str = Field(examples=["ragq"])
    admin_user: str = Field(examples=["ragq"])
    """The same: one user does everything."""


class ModelPair(Reply):
    """Two models."""

    light: str = Field(examples=["llama3.2:3b"])
    full: str = Field(examples=["llama3.1:8b"])


class ModelsReply(Reply):
    """Models under the providers that the original knows."""

    openai: ModelPair
    """The models of new questions, at any backend."""
    gemini: ModelPair = Field(default=ModelPair(light="", full=""), examples=[{"light": "", "full": ""}])
    """Always empty: there is no such backend."""


class LanguageModelsReply(Reply):
    """The language models of new questions."""

    provider: str = Field(examples=["ollama"])
    """LLM_BACKEND."""
    models: ModelsReply


class LanguageModelsBody(Body):
    """The language models of new questions. What is not named stays as it is."""

    provider: Value | None = Field(default=None, examples=["ollama"])
    """Accepted as it is; LLM_BACKEND sets it."""
    openai_light: Value | None = Field(default=None, examples=["llama3.2:3b"])
    """Empty: that of all other questions."""
    openai_full: Value | None = Field(default=None, examples=["llama3.1:8b"])
    """Empty: the one that the settings of the server name."""
    gemini_light: Value | None = Field(default=None, examples=[""])
    """Accepted empty: there is no such backend."""
    gemini_full: Value | None = Field(default=None, examples=[""])
    """Accepted empty: there is no such backend."""


class PathsReply(Reply):
    """Always empty: files are uploaded, or named when they are imported."""

    input_dir: str = Field(default="", examples=[""])
    output_dir: str = Field(default="", examples=[""])


class SettingsReply(Reply):
    """What runs that are submitted now are submitted with."""

    profile: str = Field(examples=["demo"])
    settings: dict[str, SettingValue]
    """Every setting of a new run, and its source."""
    database: DatabaseReply
    llm: LanguageModelsReply
    paths: PathsReply = PathsReply()


Name = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9 _-]{1,100}$")]
PathName = Annotated[
    str, Path(pattern="^[A-Za-z0-9 _-]{1,100}$", description="In any case of letters", examples=["Balanced"])
]
Description = Annotated[Text, StringConstraints(max_length=1000)]


PresetValues = dict[
    Annotated[Text, Field(max_length=100)],
    Annotated[dict[Annotated[Text, Field(max_length=100)], bool | int | float | Text], Field(max_length=100)],
]
"""Values of a preset by group and key; absent ones are not changed."""


class NewPresetBody(Body):
    """A new preset: a copy of another one with some values changed."""

    model_config = with_example(preset_name="Small", config={"augmentation": {"top_n_contexts": 3}})

    preset_name: Name = Field(examples=["Small"])
    """1 to 100 letters from A to Z, digits, spaces, `-` and `_`; surrounding spaces are removed."""
    description: Description | None = Field(default=None, examples=["Few sources"])
    is_default: bool = False
    """Make it the default preset."""
    copy_of: Name | None = Field(default=None, examples=["Original"])
    """The preset to copy; by default the default preset."""
    config: PresetValues = Field(default={})


class PresetBody(Body):
    """What to change about a preset."""

    model_config = with_example(config={"augmentation": {"top_n_contexts": 3}})

    description: Description | None = Field(default=None, examples=["Few sources"])
    """Absent or null does not change it."""
    config: PresetValues = Field(default={})


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


class TemplateVersion(StoredTemplate):
    """One version of a template, with its allowed placeholders."""

    variables: list[Variable]


class TemplateReply(Reply):
    """A template with all of its versions."""

    function_tag: str = Field(examples=["query_expansion"])
    variables: list[Variable]
    """The allowed placeholders."""
    active_version: int | None = Field(examples=[1])
    versions: list[StoredTemplate]


class TemplatesReply(Reply):
    """Every template."""

    templates: list[TemplateReply]
