"""`ragq runs` and `ragq show`: submitted runs and their progress."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from cli.config import known_prices, with_database
from cli.ids import RUN
from cli.options import SETTINGS, wanted_options
from cli.output import FittingTable, draw, json_option, print_data, print_json, print_list
from cli.run_table import print_run, run_details, run_json
from cli.watch import read
from schemas.errors import Refused
from schemas.settings.preset import is_preset_name
from schemas.settings.run import RUN_SETTINGS
from schemas.values.costs import RunCost
from schemas.values.documents import conditions_of
from schemas.values.participants import AssessmentMode
from schemas.values.requests import SINGLE, RunsWanted
from schemas.values.scoring import ScoreTable
from services.reports import cost_of_run
from stages.reports.tables import Moment
from stages.reports.words import asked_for, split_in_words
from store.database import Connection
from store.runs import overviews
from store.runs.chain import content_hash
from store.runs.overviews import RunOverview
from store.runs.run_view import RunView, with_figures, with_origin
from store.views import run_scores, submission


def toml_comment(words: str) -> str:
    """A comment of one line, whatever the words hold.

    >>> toml_comment("preset 'a\\nb'")
    "# preset 'a�b'"
    """
    return f"# {''.join(char if char.isprintable() else '�' for char in words)}"


def toml_line(name: str, value: Any) -> str:
    """A key with its value: a text, a number, a truth value, or a list of them.

    >>> toml_line("limit", 3), toml_line("retrieval.fusion", 'a "b"'), toml_line("participants", [316, 319])
    ('limit = 3', 'retrieval.fusion = "a \\\\"b\\\\""', 'participants = [316, 319]')
    """
    return f"{name} = {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_value(key)} = {_value(one)}' for key, one in value.items())}}}"
    # JSON and TOML escape texts alike, except for DEL, which JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


Jobs = Sequence[Mapping[str, Any]]


def run_config(run: RunOverview, settings: Mapping[str, Any], jobs: Jobs, *, with_text: bool) -> str:
    """The options, the settings, and with `with_text` the questions or phrases of a run, as TOML. Raises Refused for
    runs that `ragq submit` did not make."""
    request = run.request
    match run.kind:
        case "participant":
            options = _of_participants(request, jobs)
        case "query":
            options = _of_questions(request, jobs)
        case "tags":
            options = {"vocabulary": request["vocabulary"], "allow-nsfw": request.get("allow_nsfw_tags")}
        case _:
            raise Refused(
                f"Run r{run.id} was not made by `ragq submit`, so that no configuration submits it again. "
                f"`ragq show r{run.id}` shows its settings."
            )
    options |= {"until": request.get("until"), "profile": run.profile}
    if with_text and _is_single(run.kind, jobs):
        options["query"] = jobs[0]["question"]
    made = f"Run r{run.id}, submitted with ragq {run.version}"
    return "\n".join(
        [
            toml_comment(f"{made}. `ragq submit --config FILE` submits it again."),
            *map(toml_comment, _remarks(run, jobs, with_text)),
            *(toml_line(name, value) for name, value in options.items() if value not in (None, False)),
            "",
            *_settings(run.kind, settings, jobs),
            "",
            *(_tables(run.kind, jobs) if with_text else ()),
        ]
    )


def _of_participants(request: Mapping[str, Any], jobs: Jobs) -> dict[str, Any]:
    modes = {job["mode"] for job in jobs}
    return {
        "split": request.get("split") and split_in_words(request),
        "data-set": None if request.get("split") else request.get("data_set"),
        "references": request.get("references"),
        "participants": request.get("participants") or None,
        "limit": request.get("limit"),
        "few-shot-only": modes == {AssessmentMode.FEW_SHOT},
        "zero-shot-only": modes == {AssessmentMode.ZERO_SHOT},
        "allow-overlap": bool(request.get("overlap")),
    }


def _of_questions(request: Mapping[str, Any], jobs: Jobs) -> dict[str, Any]:
    is_light = any(job["inputs"].get("light_model") for job in jobs)
    return {
        "corpus": request["corpus"].split(", "),
        "where": conditions_of(request.get("works", {})) or None,
        "preset": None if _follows_default(jobs) else request["preset"],
        "no-expand": request.get("expansion") == "none",
        "model": "light" if is_light else None,
    }


def _remarks(run: RunOverview, jobs: Jobs, with_text: bool) -> Iterator[str]:
    request = run.request
    if draw := request.get("draw"):
        yield f"It was draw {draw}: --fresh or --samples asks the models anew."
    files = {
        "--evidence": request.get("evidence"),
        "--expansion": request.get("expansion") == "pasted",
        "--qrels": request.get("judgements") and not with_text,
    }
    if lacking := [option for option, is_given in files.items() if is_given]:
        yield f"It was submitted with {' and '.join(lacking)}, which give the same files again."
    if _follows_default(jobs):
        preset = request["preset"]
        yield f"It takes the default preset, then '{preset}'. Its values are comments below; without # they are fixed."
    asked = [(job["question"], job["inputs"].get("query_hash")) for job in jobs if job["question"] is not None]
    if any(content_hash(question) != submitted for question, submitted in asked):
        yield "Questions were edited since: here they are as they are now."
    if not with_text and run.kind != "participant":
        what = {"query": "questions: --query or --queries", "tags": "phrases: --phrases"}[run.kind]
        yield f"It lacks the text of the {what} gives it, or `ragq show r{run.id} --config --with-text`."


def _settings(kind: str, settings: Mapping[str, Any], jobs: Jobs) -> Iterator[str]:
    """All of them: what the environment or a profile has counts no more."""
    follows_default = _follows_default(jobs)
    yield f"[{SETTINGS}]"
    for name, setting in sorted(settings.items()):
        if kind != "tags" or (name in RUN_SETTINGS and RUN_SETTINGS[name].place[0] == "psq"):
            line = toml_line(name, setting["value"])
            yield f"# {line}" if follows_default and is_preset_name(name) else line


def _follows_default(jobs: Jobs) -> bool:
    """Whether a question takes whatever preset is the default, which a named preset would end."""
    return any(job["inputs"].get("takes_default") for job in jobs)


def _tables(kind: str, jobs: Jobs) -> Iterator[str]:
    """A table for each set of phrases, or for each question of several, without what is empty."""
    if kind == "participant" or _is_single(kind, jobs):
        return
    for job in jobs:
        row: dict[str, Any] = {"id": job["subject"]}
        if kind == "tags":
            yield "[[phrases]]"
            row |= {key: job["inputs"][key] for key in ("phrases", "context_tags")}
        else:
            yield "[[queries]]"
            row |= {"text": job["question"], **{key: job[key] for key in ("reference_answer", "judgements")}}
        yield from (toml_line(key, value) for key, value in row.items() if value not in (None, [], {}))
        yield ""


def _is_single(kind: str, jobs: Jobs) -> bool:
    """Whether a run asked one question, which is no table but an option."""
    return kind == "query" and len(jobs) == 1 and jobs[0]["subject"] == SINGLE


@click.command()
@wanted_options(RunsWanted)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with commit, error and coverage of each.")
def runs(wanted: RunsWanted, as_json: bool) -> None:
    """List the newest runs with the states of their jobs, and for unfinished ones their priority and share.

    \b
    Example:
        ragq runs --kind query --search "baseline failed"
        ragq runs --limit 1000 --json > registry.json
    """
    listed = with_database(overviews.listed, wanted)
    if as_json:
        listed = with_database(with_figures, listed)
    table = FittingTable("run", "name", "kind", "profile", "asked for", "jobs", "states", "priority", "submitted")
    for run in listed.items:
        states = ", ".join(f"{count} {status}" for status, count in run.states.items())
        priority, submitted = run.priority if run.open_jobs else "", Moment(run.created_at)
        asked = f"r{run.id}", run.name, run.kind, run.profile, asked_for(run.request)
        table.add_row(*asked, run.jobs, states, priority, submitted)
    none = "No run is stored yet. `ragq submit --split paper-test` makes one."
    if wanted.kind or wanted.search or wanted.before:
        none = "There is no such run. `ragq runs` lists the newest."
    print_list(listed, table, none=none, as_json=as_json)


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN)
@click.option(
    "--config", "as_config", is_flag=True, help="Print the TOML with which `ragq submit --config` repeats it."
)
@click.option("--with-text", is_flag=True, help="With --config: print its questions or phrases too.")
@json_option
def show(run_id: int, as_config: bool, with_text: bool, as_json: bool) -> None:
    """Show a run: the stages of every job, references kept and rejected, calls, seconds, errors and the cost.

    A run of participants ends with their scores: the eight items in both modes beside the ground truth.

    \b
    Example:
        ragq show r12
        ragq show r12 --config --with-text > run.toml
    """
    if as_config and as_json:
        raise click.UsageError("--config and --json: choose one.")
    if with_text and not as_config:
        raise click.UsageError("--with-text goes with --config.")
    if as_config:
        print_data(f"{run_config(*with_database(submission, run_id), with_text=with_text)}\n")
        return

    prices = known_prices()

    async def shown(connection: Connection) -> tuple[RunView, ScoreTable | None, RunCost]:
        view = await with_origin(connection, await read(connection, run_id, all_jobs=as_json))
        cost = await cost_of_run(connection, run_id, prices, by_job=as_json)
        return view, await run_scores(connection, run_id), cost

    view, scores, cost = with_database(shown)
    if as_json:
        print_json(run_json(view, scores) | {"cost": cost})
    else:
        print_run(view, scores)
        draw("", run_details(view, cost))
