"""`ragq submit`: store a run and send it to the workers."""

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import click
from click.core import ParameterSource

from cli.config import with_open_database
from cli.files import read_file, row_file
from cli.ids import RUN
from cli.new_runs import conclude, print_estimates, report_stored, run_options
from cli.options import (
    FILE,
    SETTINGS,
    Choice,
    Decorator,
    Typed,
    effective_settings,
    numbers,
    request_options,
    requested,
    settings_options,
    split_values,
    together,
)
from cli.output import Text, draw, print_text
from cli.submissions import model_option, participants_request, queries_request, search_options, tags_request
from schemas.errors import Refused
from schemas.settings.base import ENV_FILE, SettingSource, layer_of
from schemas.settings.preset import PRESET_SETTINGS, is_preset_name
from schemas.settings.process import ProcessSettings
from schemas.settings.profiles import changed_in_words, changed_settings
from schemas.settings.resolve import EffectiveSettings
from schemas.settings.run import RunSettings
from schemas.statuses import Priority
from schemas.suggestions import did_you_mean
from schemas.values.requests import ParticipantRequest, RunTerms, TagsPolicy
from services.new_runs import Submitted, webhook_url
from services.submit import MAX_SAMPLES, Request, chosen_draws, plan_request
from services.submit import submit as submit_request
from stages.reports.words import counted

_NOT_IN_A_FILE: Final = ("config", "set", "after", "json", "help")


def config_option(
    context: click.Context, _parameter: click.Parameter, path: Path | None
) -> tuple[str, dict[str, str]] | None:
    """Read the file of --config, before other options, which take its values unless the command line has them: its name
    for errors, and its settings."""
    if path is None or context.resilient_parsing:
        return None
    context.default_map, settings = read_submission_file(path, context.command)
    return f"file {path}", settings


def read_submission_file(path: Path, command: click.Command) -> tuple[dict[str, Any], dict[str, str]]:
    """The values in a file for the options of a command, by the names of their parameters, and for settings and values
    of the preset, by theirs. File names in it are relative to its folder. Raises Refused with every problem: text that
    is not TOML, keys that are no option, values of another type."""
    try:
        document = tomllib.loads(read_file(path).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Refused(f"{path} is not UTF-8; save it as UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{path} is not TOML: {error}.") from None
    settings = document.pop(SETTINGS, {})
    options = {option.opts[-1].removeprefix("--"): option for option in command.params}
    known = {name: option for name, option in options.items() if name not in _NOT_IN_A_FILE}
    flat = dict(_flattened(settings)) if isinstance(settings, dict) else {SETTINGS: settings}
    problems = [*_problems_of_options(document, known), *_problems_of_settings(flat)]
    if problems:
        raise Refused("\n".join([f"{path} cannot be submitted:", *(f"  {problem}" for problem in problems)]))
    values = {str(known[key].name): _located(known[key], value, path.parent) for key, value in document.items()}
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in flat.items()}
    return values, texts


def _problems_of_options(document: Mapping[str, Any], known: Mapping[str, click.Parameter]) -> Iterator[str]:
    for key, value in document.items():
        if key not in known:
            yield f"`{key}` is no option of a submission.{did_you_mean(key, [*known, SETTINGS])}"
            continue
        takes_lists = known[key].multiple or isinstance(known[key].type, Typed)
        if not (isinstance(value, str | int | float) or (isinstance(value, list) and takes_lists)):
            yield f"`{key}` takes a text, a number, or true or false."


def _problems_of_settings(settings: Mapping[str, Any]) -> Iterator[str]:
    for name, value in settings.items():
        if name == SETTINGS:
            yield f"`{SETTINGS}` is a table, which begins with [{SETTINGS}]."
        elif is_preset_name(name) and name not in PRESET_SETTINGS:
            yield f"`{name}` is not a value of a preset.{did_you_mean(name, PRESET_SETTINGS)}"
        elif not isinstance(value, str | bool | int | float):
            yield f"`{name}` takes a text, a number, or true or false."


def _flattened(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a table by their names: those of tables in it are named `table.key`."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flattened(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _located(option: click.Parameter, value: Any, folder: Path) -> Any:
    if option.multiple:
        return value if isinstance(value, list) else [str(value)]
    is_file = isinstance(option.type, click.Path) or option.type.name == "FILE"
    return str(folder / value) if is_file and isinstance(value, str) and value != "-" else value


class Kind(NamedTuple):
    """A kind of job: its options, and what makes a request of them."""

    title: str
    """Of its options, in the help."""
    subjects: tuple[str, ...]
    """The options of which one names what the jobs are of."""
    declared: tuple[Decorator, ...]
    """The options that go with this kind alone, with the subjects."""
    request: Callable[..., Request]

    @property
    def options(self) -> list[str]:
        """The names of its options, as the command takes them."""
        return [str(option.name) for option in click.command()(together(*self.declared)(lambda: None)).params]


KINDS: dict[str, Kind] = {
    "participant": Kind(
        "Participants",
        ("split", "participants"),
        (
            request_options(ParticipantRequest, without=("participants", "modes", "until", "evidence")),
            click.option(
                "--participants",
                type=numbers("ID,ID...", "participant numbers", "316,319"),
                help="These participants instead of a split.",
            ),
            click.option("--few-shot-only", is_flag=True, help="Only with references."),
            click.option("--zero-shot-only", is_flag=True, help="Only without references."),
            click.option(
                "--evidence",
                type=FILE,
                help="JSON file of ready-made quotes: participant id -> PHQ8_* key -> list of quotes.",
            ),
        ),
        participants_request,
    ),
    "query": Kind(
        "Questions",
        ("query", "queries"),
        (
            click.option("--query", metavar="TEXT", help="Ask one question of a corpus."),
            click.option(
                "--queries",
                type=row_file("ragq submit --query {}"),
                help="Ask every question of a JSONL file: one object with id and text a line.",
            ),
            *search_options,
            click.option(
                "--qrels", type=FILE, help="Judgements to evaluate by, `query-id corpus-id score` or TREC's form."
            ),
            click.option("--no-expand", is_flag=True, help="Search for the questions as they are asked."),
            click.option("--expansion", type=FILE, help="An expansion reply of an external model, for --query."),
            model_option,
        ),
        queries_request,
    ),
    "tags": Kind(
        "Phrases",
        ("phrases",),
        (
            click.option(
                "--phrases",
                type=row_file("echo {} | ragq submit --phrases -"),
                help="Find tags for each line of a file, or of - for stdin: phrases with commas between, a JSON list "
                "of them, or an object with phrases and perhaps id and context_tags.",
            ),
            request_options(TagsPolicy, without=("until",)),
            click.option(
                "--context-tags", metavar="TAG,TAG...", help="Those that are chosen already, as context of all."
            ),
        ),
        tags_request,
    ),
}

_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)


class _Submit(click.Command):
    """A command that lists its options by the kind of job that they belong to."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Those of each kind under its title, and then those that every run has."""
        left = {str(option.name): record for option in self.get_params(ctx) if (record := option.get_help_record(ctx))}
        for kind in KINDS.values():
            with formatter.section(kind.title):
                formatter.write_dl([left.pop(name) for name in kind.options])
        with formatter.section("Every run"):
            formatter.write_dl(list(left.values()))


@click.command(cls=_Submit)
@click.option(
    "--config",
    type=FILE,
    is_eager=True,
    callback=config_option,
    help="TOML file of options and settings, such as `ragq show RUN --config` prints; the command line wins over it.",
)
@together(*(option for kind in KINDS.values() for option in kind.declared))
@request_options(ParticipantRequest, "until")
@settings_options
@click.option("--retries", type=click.IntRange(0, 10), help="How often a transport error is retried automatically.")
@request_options(RunTerms, without=("after_run_id",))
@click.option("--name", metavar="NAME", help="Name of the run, which no other run has; commands take it for RUN.")
@click.option(
    "--priority",
    type=Choice(Priority),
    help="How often it has a turn where several runs wait; unless given, interactive for one question or one set of "
    "phrases, and normal for others.",
)
@click.option(
    "--after",
    "after_run_id",
    metavar="RUN",
    type=RUN,
    help="Begin when this run has succeeded; all jobs are cancelled if one of its jobs does not succeed.",
)
@click.option("--new", "always_new", is_flag=True, help="Store a new run even if the same work was submitted before.")
@click.option(
    "--fresh", is_flag=True, help="Ask the language models anew: answers of other runs are not reused. A new run."
)
@click.option(
    "--samples",
    type=click.IntRange(1, MAX_SAMPLES),
    default=1,
    show_default=True,
    help="Submit this many runs, each with answers of its own, to measure how much results vary.",
)
@run_options
def submit(
    config: tuple[str, dict[str, str]] | None,
    profile: str | None,
    values: dict[str, str],
    retries: int | None,
    name: str | None,
    priority: Priority | None,
    always_new: bool,
    fresh: bool,
    samples: int,
    dry_run: bool,
    wait: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Submit participants of a split, questions to a corpus, or phrases to a vocabulary, as a run of one job each.

    Participants are scored in both modes unless one is chosen. Questions are expanded, searched for, and answered with
    sources; --set takes values of the preset too. Phrases get candidate tags, which --wait prints. The same
    submission again finds its run: its failed jobs continue, and nothing that is stored is computed twice; --new
    forces another run.

    Values are taken from the command line, else from the file of --config, else from the environment, .env, profile
    and defaults.

    Exit codes: 0 done, 1 refused, 2 wrong usage, 3 some jobs failed (with --wait), 130 Ctrl-C: the run continues.

    \b
    Example:
        ragq submit --split paper-test --few-shot-only --limit 3 --wait
        ragq submit --split paper-test --samples 3 --set MODEL_TEMPERATURE=0.7
        ragq submit --query "How is tea made?" --corpus shelf --corpus archive --where "year>=2001" --wait
        ragq submit --queries set.jsonl --qrels set.tsv --corpus shelf --until rerank --set retrieval.fusion=rrf
        ragq submit --split paper-test --after r12 --notify https://hooks.example.org/ragq
        ragq submit --split paper-test --batch --set LLM_BACKEND=openai
        ragq submit --split paper-test --dry-run
        ragq submit --config run.toml --set MODEL_TEMPERATURE=0.7
        echo "overcoat, red, seated man" | ragq submit --phrases - --vocabulary demo --wait
    """
    context = click.get_current_context()
    kind = _kind(context)
    origin, in_file = config or ("", {})
    owner = KINDS[kind]
    of_kind = {name: options[name] for name in owner.options}
    if kind == "query":
        values, of_preset = split_values(values)
        in_file, of_preset_in_file = split_values(in_file)
        of_kind["preset_values"] = of_preset_in_file | of_preset
    request = owner.request(until=options["until"], **of_kind)
    if retries is not None:
        values |= {"RAGQ_RETRIES": str(retries)}
    layer = None if config is None else layer_of(SettingSource.CONFIG, origin, in_file)
    settings = effective_settings(profile, values, layer)
    if name is not None and samples > 1:
        raise click.UsageError("--name goes with one run; `ragq set` names each of several.")
    chosen = chosen_draws(fresh=fresh, samples=samples)
    url = webhook_url(ProcessSettings.from_environment(os.environ, ENV_FILE), options["notify_url"])
    terms = requested(RunTerms, **{name: options[name] for name in RunTerms.model_fields} | {"notify_url": url})
    if dry_run:
        plan = partial(plan_request, request=request, settings=settings, terms=terms)
        print_estimates([partial(plan, draw=draw) for draw in chosen], as_json=as_json)
        return
    submitted = with_open_database(
        submit_request,
        request,
        settings,
        draws=chosen,
        always_new=always_new,
        name=name,
        priority=priority,
        terms=terms,
        warn=lambda sentence: print_text(sentence, err=True),
    )
    # The table of a run that is followed shows notices and settings again.
    report_submitted(submitted, settings, kind=kind, briefly=wait and kind != "tags" and not as_json)
    if fresh or samples > 1:
        _report_draws(kind, submitted, settings.run)
    conclude(submitted, wait=wait, as_json=as_json, changed_settings=settings.changed)


def report_submitted(
    submitted: Sequence[Submitted], settings: EffectiveSettings, *, kind: str, briefly: bool = False
) -> None:
    """Print on stderr what a submission led to, its notices, and the settings that differ from the profile. `briefly`
    leaves out both, where the table of the run follows and has them."""
    for one in submitted:
        made = f"{counted(one.jobs, 'job')} submitted, profile {settings.profile} ({settings.profile_source})"
        report_stored(one, made, again="submitted", notices=not briefly)
        if one.searched is not None:
            draw(f"References are searched in {one.searched}.", err=True)
    changed = {} if briefly else changed_settings(settings.profile, settings.snapshot(), kind=kind)
    if changed:
        changes = changed_in_words(changed, profile=settings.profile, run=f"r{submitted[0].run_id}")
        draw(Text(changes, style="dim"), err=True)


def _report_draws(kind: str, submitted: Sequence[Submitted], settings: RunSettings) -> None:
    """Print on stderr how to measure the variance, and that temperature 0 leaves none on most servers."""
    if kind == "participant":
        print_text(f"`ragq report r{submitted[-1].run_id}` shows mean and standard deviation over its draws.", err=True)
    setting = "MODEL_TEMPERATURE" if kind == "participant" else "RAGQ_QUERY_TEMPERATURE"
    if settings.values()[setting] == 0 and (kind == "query" or not settings.consistency.enabled):
        print_text(
            "The models are asked at temperature 0, at which a deterministic server gives the same answers in every "
            f"draw; --set {setting}=0.7 lets them vary.",
            err=True,
        )


def _kind(context: click.Context) -> str:
    """The kind of job that the named subjects belong to. Raises UsageError unless it is one, and for its options."""
    subjects = {subject: kind for kind, owner in KINDS.items() for subject in owner.subjects}
    named = [subject for subject in subjects if context.params[subject] is not None]
    if len(named) != 1:
        choices = ", ".join(map(_option, subjects))
        raise click.UsageError(f"Name one of {choices}. Example: ragq submit --split paper-test")
    kind = subjects[named[0]]
    for name in (name for other, owner in KINDS.items() if other != kind for name in owner.options):
        if context.params.get(name) is not None and context.get_parameter_source(name) in _GIVEN:
            raise click.UsageError(f"{_option(name)} does not go with {_option(named[0])}.")
    return kind


def _option(parameter: str) -> str:
    return next(one.opts[0] for one in submit.params if one.name == parameter)
