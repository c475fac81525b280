"""Settings as JSON, in the form of the original's client."""

from dataclasses import fields
from datetime import datetime
from typing import Annotated, Any, get_args, get_origin

from fastapi import Path
from pydantic import Field, StringConstraints, create_model

from api.rest.bodies.base import Body, Reply, with_example
from schemas.settings.base import SettingsGroup, descriptions
from schemas.settings.preset import PRESET_GROUPS, Preset, by_name
from schemas.values.base import Text
from schemas.values.runs import SettingValue

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


def _some(group: type[SettingsGroup]) -> type[Body]:
    """A body with the fields of a group, all of them optional."""
    described = descriptions(group)
    optional: dict[str, Any] = {
        field.name: _optional(_accepted(field.type), field.default, described.get(field.name))
        for field in fields(group)
    }
    return create_model(f"Some{group.__name__}", __base__=Body, __doc__=group.__doc__, **optional)


def _accepted(annotation: Any) -> Any:
    kind, *limits = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    return Annotated[(Text if kind is str else kind, *limits)] if limits else Text if kind is str else kind


def _optional(accepted: Any, default: object, description: str | None) -> Any:
    # OpenAPI shows no default that comes from a factory: an absent value is not changed.
    return Annotated[accepted, Field(default_factory=lambda: default, description=description)]


_GROUPS: dict[str, Any] = {name: _optional(_some(group), group(), None) for name, group in PRESET_GROUPS.items()}


class PresetConfig(create_model("SomePreset", __base__=Body, __doc__=Preset.__doc__, **_GROUPS)):  # type: ignore[misc]
    """Values of a preset by group and key; absent ones are not changed."""

    model_config = with_example(augmentation={"top_n_contexts": 3})

    def values(self) -> dict[str, Any]:
        """The given values, as `group.key`."""
        return by_name(self.model_dump(exclude_unset=True))


class NewPresetBody(Body):
    """A new preset: a copy of another one with some values changed."""

    preset_name: Name = Field(examples=["Small"])
    """1 to 100 letters from A to Z, digits, spaces, `-` and `_`; surrounding spaces are removed."""
    description: Description | None = Field(default=None, examples=["Few sources"])
    is_default: bool = False
    """Make it the default preset."""
    copy_of: Name | None = Field(default=None, examples=["Original"])
    """The preset to copy; by default the default preset."""
    config: PresetConfig = Field(default_factory=PresetConfig)


class PresetBody(Body):
    """What to change about a preset."""

    description: Description | None = Field(default=None, examples=["Few sources"])
    """Absent or null does not change it."""
    config: PresetConfig = Field(default_factory=PresetConfig)


class PresetReply(Reply):
    """A preset with every value."""

    id: int = Field(examples=[1])
    preset_name: str = Field(examples=["Balanced"])
    is_default: bool
    description: str | None = Field(examples=["Few chunks, read closely"])
    config: Preset
    created_at: datetime
    updated_at: datetime


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
