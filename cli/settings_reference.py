"""The reference of all settings as Markdown, from the descriptions in schemas/settings."""

from collections.abc import Iterable

from schemas.settings.base import Setting, SettingsGroup, settings_of
from schemas.settings.preset import PRESET_SETTINGS
from schemas.settings.process import ProcessSettings
from schemas.settings.profiles import PROFILES
from schemas.settings.run import RUN_GROUPS, RUN_SETTINGS
from schemas.settings.words import value_in_words

_HEAD = """\
# Settings

Written by `ragq config reference`. `ragq config show` prints the values that hold here and now.

A value comes from the first of these that names it: `--set NAME=VALUE`, the environment, the `.env` file of the
working directory (not read when `TESTING` is set), the profile, the default. A run keeps all of its values and where
each came from: what is set later changes nothing about it. Unknown names that start with `EMBEDDING_`, `PSQ_`,
`QUANTITATIVE_` or `RAGQ_` are refused.
"""

_PRESETS = """\
## Presets of query runs

Not from the environment: `ragq preset` keeps them, `ragq submit --preset` chooses one, and `--set` wins over it for one
run. The defaults are those of a new preset. [Presets and templates](presets.md) explains them.
"""

_PROFILES = """\
## Profiles

The profile is that of `--profile`, else of `RAGQ_PROFILE`, else `demo` when neither `OLLAMA_HOST` nor
`RAGQ_OPENAI_BASE_URL` is set, else `paper`. `paper` is the defaults. `validated` asks for the item tag filter and for
scores by chunk: an index without them is refused until `ragq index chunk-scores` has scored it. `demo` runs on small
models that are installed with ragq; its verdicts are not meaningful.
"""


def settings_reference() -> str:
    """The text of docs/settings.md."""
    runs = [_section(f"{_prefix(group)}* of a run", group) for group in RUN_GROUPS.values()]
    presets = [_PRESETS, _settings_table(PRESET_SETTINGS.values())]
    process = _section("The process", ProcessSettings)
    return "\n".join([_HEAD, _PROFILES, _profiles_table(), *runs, *presets, process])


def _section(heading: str, group: type[SettingsGroup]) -> str:
    return f"## {heading}\n\n{group.__doc__}\n\n{_settings_table(settings_of(group))}"


def _settings_table(settings: Iterable[Setting]) -> str:
    rows = [
        (f"`{setting.name}`", value_in_words(setting.default), setting.allowed, setting.description)
        for setting in settings
    ]
    return _table(("name", "default", "allowed", "what it does"), rows)


def _profiles_table() -> str:
    changed = {name for variables in PROFILES.values() for name in variables}
    rows = [
        (
            f"`{name}`",
            *(variables.get(name, value_in_words(setting.default)) for variables in PROFILES.values()),
        )
        for name, setting in RUN_SETTINGS.items()
        if name in changed
    ]
    return _table(("name", *PROFILES), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _prefix(group: type[SettingsGroup]) -> str:
    return group.model_config["env_prefix"]
