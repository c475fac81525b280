"""How queries are run, kept where everybody who runs them sees the same: presets, prompt templates, models."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Column, Index, Text, UniqueConstraint, func, text
from sqlmodel import Field, SQLModel

from schemas.tables.columns import id_column, json_column, now_column, text_column


class RagConfigTable(SQLModel, table=True):
    """A named preset. At most one is the default."""

    __tablename__ = "rag_config"
    __table_args__ = (
        Index("ux_rag_config_name", func.lower(text("preset_name")), unique=True),
        Index("ux_rag_config_default", "is_default", unique=True, postgresql_where=text("is_default")),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    preset_name: str
    is_default: bool = False
    description: str | None = Field(default=None, sa_column=text_column(nullable=True))
    config: dict[str, Any] = Field(sa_column=json_column())
    """Every value of the preset, by group and key."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    updated_at: datetime | None = Field(default=None, sa_column=now_column())


class PromptTemplateTable(SQLModel, table=True):
    """One version of a template. Versions are added and never changed; one of each function is active."""

    __tablename__ = "prompt_templates"
    __table_args__ = (
        UniqueConstraint("function_tag", "version"),
        Index("ux_prompt_templates_active", "function_tag", unique=True, postgresql_where=text("is_active")),
        CheckConstraint("version > 0", name="ck_prompt_templates_version"),
    )

    id: int | None = Field(default=None, sa_column=id_column())
    function_tag: str
    version: int
    title: str
    template_content: str = Field(sa_column=text_column())
    is_active: bool = False
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    updated_at: datetime | None = Field(default=None, sa_column=now_column())


class PromptMetaTable(SQLModel, table=True):
    """Which placeholders the templates of a function may use, and what they mean."""

    __tablename__ = "prompt_meta"

    id: int | None = Field(default=None, sa_column=id_column())
    function_tag: str = Field(unique=True)
    variables: list[Any] = Field(sa_column=json_column())
    """Objects with `variable_name` and `variable_description`."""
    created_at: datetime | None = Field(default=None, sa_column=now_column())
    updated_at: datetime | None = Field(default=None, sa_column=now_column())


class ChosenSettingTable(SQLModel, table=True):
    """A setting of new runs that was chosen over REST. The environment and .env files override it."""

    __tablename__ = "chosen_setting"

    name: str = Field(sa_column=Column(Text, primary_key=True))
    value: str = Field(sa_column=text_column())
    updated_at: datetime | None = Field(default=None, sa_column=now_column())
