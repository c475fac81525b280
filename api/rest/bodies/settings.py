"""Settings as JSON, in the form of the original's client."""

from typing import Annotated

from pydantic import Field, StringConstraints

from api.parameters import Text
from api.rest.bodies.base import Body, Reply
from api.rest.bodies.runs import SettingReply

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
    settings: dict[str, SettingReply]
    """Every setting of a new run, and its source."""
    database: DatabaseReply
    llm: LanguageModelsReply
    paths: PathsReply = PathsReply()
