"""A run as the file that `ragq submit --config` reads."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cli.submission_keys import SETTINGS
from cli.toml_text import toml_comment, toml_line, toml_tables
from schemas.errors import Refused
from schemas.settings.base import settings_of
from schemas.settings.changes import changed_settings
from schemas.settings.preset_groups import PRESET_SETTINGS
from schemas.settings.preset_names import is_preset_name
from schemas.settings.run_groups import RUN_GROUPS, RUN_SETTINGS
from schemas.values.phq8 import AssessmentMode
from schemas.values.query_ids import SINGLE
from schemas.values.work_words import conditions_of
from stages.reports.run_words import split_in_words
from store.runs.chain import content_hash
from store.views.submissions import Submission, SubmittedJob

_PLACES = {name: place for place, name in enumerate([*RUN_SETTINGS, *PRESET_SETTINGS])}


def run_config(run: Submission, *, with_text: bool) -> str:
    """The options, the settings, and with `with_text` the questions or phrases of a run, as TOML.

    Raises Refused for runs that `ragq submit` did not make.
    """
    overview = run.overview
    if overview.kind not in ("participant", "query", "tags"):
        raise Refused(
            f"Run r{overview.id} was not made by `ragq submit`, so that no configuration submits it again. "
            f"`ragq show r{overview.id}` shows its settings."
        )
    options = {
        "participant": _of_participants,
        "query": _of_questions,
        "tags": _of_phrases,
    }[overview.kind](run)
    options |= {"until": overview.request.get("until"), "profile": overview.profile}
    made = f"Run r{overview.id}, submitted with ragq {overview.version}"
    return "\n".join(
        [
            toml_comment(f"{made}. `ragq submit --config FILE` submits it again."),
            *map(toml_comment, _remarks(run, with_text)),
            *(toml_line(name, value) for name, value in options.items() if value not in (None, False)),
            *_subject(run, with_text),
            "",
            *_settings(run),
            "",
            *_tables(run, with_text),
        ]
    )


def _of_participants(run: Submission) -> dict[str, Any]:
    request = run.overview.request
    modes = {job.mode for job in run.jobs}
    return {
        "split": request.get("split") and split_in_words(request),
        "data-set": None if request.get("split") else request.get("data_set"),
        "references": request.get("references"),
        "participants": request.get("participants") or None,
        "limit": request.get("limit"),
        "few-shot-only": modes == {AssessmentMode.FEW_SHOT},
        "zero-shot-only": modes == {AssessmentMode.ZERO_SHOT},
        "allow-overlap": bool(request.get("overlap")),
        "allow-variant-mismatch": bool((request.get("variants") or {}).get("mismatch_allowed")),
    }


def _of_questions(run: Submission) -> dict[str, Any]:
    request = run.overview.request
    is_light = any(job.inputs.get("light_model") for job in run.jobs)
    return {
        "corpus": _one_or_all(request["corpus"].split(", ")),
        "where": conditions_of(request.get("works", {})) or None,
        "preset": None if _follows_default(run) else request["preset"],
        "no-expand": request.get("expansion") == "none",
        "model": "light" if is_light else None,
    }


def _one_or_all(names: Sequence[str]) -> str | Sequence[str]:
    return names[0] if len(names) == 1 else names


def _of_phrases(run: Submission) -> dict[str, Any]:
    request = run.overview.request
    return {"vocabulary": request["vocabulary"], "allow-nsfw": request.get("allow_nsfw_tags")}


def _remarks(run: Submission, with_text: bool) -> Iterator[str]:
    request = run.overview.request
    if draw := request.get("draw"):
        yield f"It was draw {draw}: --fresh or --samples asks the models anew."
    if request.get("evidence"):
        yield "It was submitted with quotes: --evidence FILE gives them again."
    if request.get("expansion") == "pasted":
        yield "It was submitted with an expansion of an external model: --expansion FILE gives it again."
    if request.get("response"):
        yield "It was submitted with an answer of an external model: --response FILE gives it again."
    if request.get("judgements"):
        yield "It was submitted with judgements: --qrels FILE gives them again."
    if _follows_default(run):
        preset = request["preset"]
        yield f"It takes the default preset, then '{preset}'. Its values are comments below; without # they are fixed."
    if any(_is_edited(job) for job in run.jobs):
        yield "Questions were edited since: here they are as they are now."
    if not with_text and run.overview.kind != "participant":
        what = {"query": "questions: --query or --queries", "tags": "phrases: --phrases"}[run.overview.kind]
        yield f"It lacks the text of the {what} gives it, or `ragq show r{run.overview.id} --config --with-text`."


def _is_edited(job: SubmittedJob) -> bool:
    return job.question is not None and content_hash(job.question) != job.inputs.get("query_hash")


def _settings(run: Submission) -> Iterator[str]:
    """Those that differ from the profile, then all others: what the environment or a profile has counts no more."""
    names = _names(run)
    changed = changed_settings(run.overview.profile, run.settings)
    yield f"[{SETTINGS}]"
    for heading, chosen in {
        f"Differ from profile {run.overview.profile}": [name for name in names if name in changed],
        "All others": [name for name in names if name not in changed],
    }.items():
        if chosen:
            yield toml_comment(heading)
            yield from (_setting(run, name) for name in chosen)


def _setting(run: Submission, name: str) -> str:
    line = toml_line(name, run.settings[name]["value"])
    return f"# {line}" if is_preset_name(name) and _follows_default(run) else line


def _follows_default(run: Submission) -> bool:
    """Whether a question takes whatever preset is the default, which a named preset would end."""
    return any(job.inputs.get("takes_default") for job in run.jobs)


def _names(run: Submission) -> Sequence[str]:
    """The settings that the run depends on, in the order of their reference."""
    names = sorted(run.settings, key=lambda name: _PLACES.get(name, len(_PLACES)))
    if run.overview.kind != "tags":
        return names
    own = {setting.name for setting in settings_of(RUN_GROUPS["psq"])}
    return [name for name in names if name in own]


def _subject(run: Submission, with_text: bool) -> Iterator[str]:
    """The only question of a run that asked one; several are tables."""
    if with_text and run.overview.kind == "query" and _is_single(run):
        yield toml_line("query", run.jobs[0].question)


def _tables(run: Submission, with_text: bool) -> list[str]:
    if not with_text:
        return []
    if run.overview.kind == "tags":
        return toml_tables("phrases", [_phrases(job.subject, job.inputs) for job in run.jobs])
    if run.overview.kind == "query" and not _is_single(run):
        return toml_tables("queries", [_question(job) for job in run.jobs])
    return []


def _question(job: SubmittedJob) -> dict[str, Any]:
    reference = {} if job.reference_answer is None else {"reference_answer": job.reference_answer}
    return {"id": job.subject, "text": job.question} | reference


def _phrases(subject: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": subject, "phrases": inputs["phrases"], "context_tags": inputs["context_tags"]}


def _is_single(run: Submission) -> bool:
    return len(run.jobs) == 1 and run.jobs[0].subject == SINGLE
