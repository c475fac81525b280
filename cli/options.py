"""Options and arguments that several commands have."""

import os
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import reduce, wraps
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args, get_origin

import click
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from cli.output import print_text
from schemas.settings.base import ENV_FILE, Layer, outside_layers
from schemas.settings.names import check_names
from schemas.settings.preset import is_preset_name
from schemas.settings.profiles import PROFILES
from schemas.settings.resolve import EffectiveSettings, resolve
from schemas.suggestions import did_you_mean
from schemas.values.base import Value, first_problem
from schemas.values.runs import Option
from stages.reports.words import counted


class _Group(click.Group):
    """A group whose help has the first sentence of each command whole."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, in the order of their names."""
        commands = {name: self.commands[name] for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(_WHOLE)) for name, one in commands.items()])


def group(name: str | None = None) -> Callable[[Callable[..., Any]], click.Group]:
    """Make a function a group of commands."""
    return click.group(name, cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})


#: A file that is there.
FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)

#: Characters of a sentence that is never cut.
_WHOLE: Final = 1000


Meant = TypeVar("Meant")


class Typed(click.ParamType[Meant]):
    """What a function makes of a text, or of a list in a file of options. A ValueError of it says what is wrong."""

    def __init__(self, name: str, parse: Callable[[Any], Meant]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Meant:
        if not isinstance(value, str | list):
            found: Meant = value
            return found
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def assignment(example: str) -> Typed[tuple[str, str]]:
    """A text of the form NAME=VALUE, as a pair."""

    def parse(value: str) -> tuple[str, str]:
        name, equals, text = value.partition("=")
        if not (name and equals):
            raise ValueError(f"{value!r} is not of the form NAME=VALUE, such as {example}.")
        return name, text

    return Typed("NAME=VALUE", parse)


def numbers(name: str, of: str, example: str) -> Typed[tuple[int, ...]]:
    """Whole numbers with commas between them, or in a list."""

    def parse(value: str | list[Any]) -> tuple[int, ...]:
        try:
            return tuple(int(number) for number in (value if isinstance(value, list) else value.split(",")))
        except (TypeError, ValueError):
            raise ValueError(f"'{value}' is not a list of {of}; write it like {example}.") from None

    return Typed(name, parse)


Chosen = TypeVar("Chosen")


class Choice(click.Choice[Chosen]):
    """One of these values, such as the members of an enumeration of texts."""

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:
        """The text of a value: of a member not its name, as click has it."""
        return str(choice)

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """All values, and the one that was probably meant."""
        known = [self.normalize_choice(choice, ctx) for choice in self.choices]
        return super().get_invalid_choice_message(value, ctx) + did_you_mean(str(value), known)


Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
Requested = TypeVar("Requested", bound=BaseModel)


def together(*options: Decorator) -> Decorator:
    """Give a command these options, in this order."""
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


class _Field(click.ParamType[Any]):
    """What a field of a request takes."""

    def __init__(self, field: FieldInfo) -> None:
        self._adapter: TypeAdapter[Any] = TypeAdapter(field.rebuild_annotation())
        self.name = "number" if {int, float} & {field.annotation, *get_args(field.annotation)} else "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._adapter.validate_python(str(value) if self.name == "text" else value)
        except ValidationError as error:
            self.fail(first_problem(error).words, param, ctx)


def request_options(model: type[Value], *fields: str, without: Sequence[str] = (), **defaults: Any) -> Decorator:
    """Give a command an option for each of these fields of a request, or for all of them `without` these, whose values
    it takes by their names. Help, type and limits are those of the field."""
    chosen = fields or [name for name in model.model_fields if name not in without]
    return together(*(_request_option(name, model.model_fields[name], defaults.get(name)) for name in chosen))


def wanted_options(model: type[Value], **defaults: Any) -> Decorator:
    """Give a command an option for each field of what is wanted of a list: it takes the value as `wanted`. `defaults`
    are those of the terminal, where they are not the fields'."""
    fields = model.model_fields

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @request_options(model, **{name: field.default for name, field in fields.items()} | defaults)
        @wraps(command)
        def with_wanted(**options: Any) -> Any:
            return command(wanted=requested(model, **{name: options.pop(name) for name in fields}), **options)

        return with_wanted

    return decorate


def _request_option(name: str, field: FieldInfo, default: Any) -> Decorator:
    of = next((one for one in field.metadata if isinstance(one, Option)), Option())
    option = of.name or f"--{name.replace('_', '-')}"
    words = " ".join((field.description or "").split())
    if field.annotation is bool:
        return click.option(option, name, is_flag=True, help=words)
    bare = {} if of.without_value is None else {"is_flag": False, "flag_value": of.without_value}
    shown = {} if default in (None, "") else {"default": default, "show_default": True}
    taken = Choice(choices) if (choices := _choices(field)) else _Field(field)
    return click.option(option, name, type=taken, metavar=of.metavar, help=words, **bare, **shown)


def _choices(field: FieldInfo) -> list[str]:
    """The values of a field that takes no other; empty for one that takes any."""
    kinds = (field.annotation, *get_args(field.annotation))
    literals = [value for one in kinds if get_origin(one) is Literal for value in get_args(one)]
    members = [value for one in kinds if isinstance(one, type) and issubclass(one, StrEnum) for value in one]
    return [str(value) for value in (*literals, *members)]


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that have a value."""
    return {name: value for name, value in options.items() if value is not None}


def requested(model: type[Requested], **values: Any) -> Requested:
    """The request of these options. Raises UsageError for those that do not fit together."""
    try:
        return model(**given(values))
    except ValidationError as error:
        problem = first_problem(error)
        named = "" if problem.field is None else f"--{problem.field.replace('_', '-')}: "
        raise click.UsageError(f"{named}{problem.words}") from None


#: Lines of warnings at the head of a command; it counts the others.
_WARNINGS = 2


def values_option(help_: str, example: str = "EMBEDDING_TOP_K_REFERENCES=3") -> Decorator:
    """--set, as `values`: texts by the names of their settings."""
    return click.option(
        "--set",
        "values",
        type=assignment(example),
        multiple=True,
        callback=lambda _context, _parameter, pairs: dict(pairs),
        help=help_,
    )


def split_values(values: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Those of settings, and those of a preset."""
    of_preset = {name: text for name, text in values.items() if is_preset_name(name)}
    return {name: text for name, text in values.items() if name not in of_preset}, of_preset


#: --profile and --set, as the parameters `profile` and `values` of effective_settings.
settings_options = together(
    click.option(
        "--profile",
        help=f"Set of values to start from: {', '.join(PROFILES)}. Without it RAGQ_PROFILE; without both, local "
        "where no server of language models is set, else server.",
    ),
    values_option("Value of one setting; it wins over environment, .env and profile. May be repeated."),
)


def with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --profile and --set, as `settings`: those of a run submitted with them here and now."""

    @settings_options
    @wraps(command)
    def with_effective(profile: str | None, values: Mapping[str, str], **options: Any) -> Any:
        return command(settings=effective_settings(profile, values), **options)

    return with_effective


def effective_settings(
    profile: str | None, values: Mapping[str, str], config: Layer | None = None
) -> EffectiveSettings:
    """The settings of a run submitted here and now; their warnings go to stderr. Raises Refused with every problem."""
    settings = resolve(profile=profile, options=values, config=config, environment=os.environ, env_file=ENV_FILE)
    _warn(settings.warnings)
    return settings


def warn_of_names() -> None:
    """Print on stderr the names of the environment and .env that have no effect."""
    layers, _ = outside_layers(os.environ, ENV_FILE)
    *_, warnings = check_names(layers)
    _warn(warnings)


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings[:_WARNINGS]:
        print_text(f"Warning: {warning}", err=True)
    if (more := len(warnings) - _WARNINGS) > 0:
        names = counted(more, "more name")
        print_text(f"Warning: {names} without effect; `ragq doctor` lists them.", err=True)


SETTINGS: Final = "settings"
"""The table of settings and of values of the preset, in a file of options."""
