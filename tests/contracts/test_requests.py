"""Every field of a request means the same in a terminal and in JSON."""

import json
from pathlib import Path
from typing import Any

import click
import pytest

from api.rest.submissions import ParticipantSubmission, QuerySetSubmission, Submission
from api.rest.tags import TagsSubmission
from cli.main import cli
from cli.submit import KINDS, submit
from schemas.values.participants import AssessmentMode
from schemas.values.requests import ParticipantRequest, QueryPolicy, RunTerms, TagsRequest

EVIDENCE = {"316": {"PHQ8_Sleep": ["I lie awake."]}}

#: Field of a request of participants -> its value, and the arguments of the terminal.
PARTICIPANTS: dict[str, tuple[Any, list[str]]] = {
    "split": ("ward/paper-test", ["--split", "ward/paper-test"]),
    "participants": ((316, 319), ["--participants", "316,319"]),
    "data_set": ("ward", ["--participants", "1", "--data-set", "ward"]),
    "references": ("paper-train", ["--references", "paper-train"]),
    "modes": ((AssessmentMode.FEW_SHOT,), ["--few-shot-only"]),
    "limit": (3, ["--limit", "3"]),
    "until": ("assemble", ["--until", "assemble"]),
    "evidence": (EVIDENCE, ["--evidence", "evidence.json"]),
    "allow_overlap": (True, ["--allow-overlap"]),
}
#: Field of the terms of a run -> its value, and the arguments of the terminal.
TERMS: dict[str, tuple[Any, list[str]]] = {
    "max_failures": ("10%", ["--max-failures", "10%"]),
    "max_llm_calls": (500, ["--max-llm-calls", "500"]),
    "max_tokens": (9000, ["--max-tokens", "9000"]),
    "notify_url": ("https://hooks.example.org/ragq", ["--notify", "https://hooks.example.org/ragq"]),
    "batch_hours": (24, ["--batch"]),
}
#: Field of a request of questions -> its value in JSON, and the arguments of the terminal.
QUESTIONS: dict[str, tuple[Any, list[str]]] = {
    "corpus": ("shelf", ["--corpus", "shelf"]),
    "corpora": (["shelf", "archive"], ["--corpus", "shelf", "--corpus", "archive"]),
    "works": ({"author": "Leaf", "year_from": 2001}, ["--where", "author=Leaf", "--where", "year>=2001"]),
    "config_preset": ("Balanced", ["--preset", "Balanced"]),
    "expand": (False, ["--no-expand"]),
    "use_full_model": (False, ["--model", "light"]),
    "until": ("rerank", ["--until", "rerank"]),
}


def typed(*args: str) -> click.Context:
    return submit.make_context("submit", list(args), **cli.context_settings)


def request_of(kind: str, context: click.Context) -> Any:
    of = KINDS[kind]
    return of.request(**{name: context.params[name] for name in ("until", *of.options)})


@pytest.mark.parametrize("field", ParticipantRequest.model_fields)
def test_a_request_of_participants(field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("evidence.json").write_text(json.dumps(EVIDENCE), encoding="utf-8")
    value, args = PARTICIPANTS[field]
    who = {"participants": [1]} if field == "data_set" else {} if field == "participants" else {"split": "s"}
    from_json = ParticipantSubmission(**who | json.loads(json.dumps({field: value})))
    split = [] if "--split" in args or "--participants" in args else ["--split", "s"]
    found = [from_json, request_of("participant", typed(*split, *args))]

    assert [getattr(one, field) for one in found] == [value] * len(found)
    assert len({one.model_dump_json(include=set(ParticipantRequest.model_fields)) for one in found}) == 1


# `--after` takes a name of a run too, which the database knows.
@pytest.mark.parametrize("field", sorted(RunTerms.model_fields.keys() - {"after_run_id"}))
def test_the_terms_of_a_run(field: str) -> None:
    value, args = TERMS[field]
    assert typed("--split", "s", *args).params[field] == getattr(Submission(**{field: value}), field) == value


@pytest.mark.parametrize("field", QueryPolicy.model_fields)
def test_a_request_of_questions(field: str) -> None:
    value, args = QUESTIONS[field]
    asked = {"queries": [{"id": "q1", "text": "Why?"}]}
    in_json = QuerySetSubmission.model_validate(asked | {field: value}).request
    in_terminal = request_of("query", typed("--query", "Why?", *args))

    name = "all_corpora" if field in ("corpus", "corpora") else field
    assert getattr(in_terminal, name) == getattr(in_json, name)


def test_a_request_of_tags(tmp_path: Path) -> None:
    (tmp_path / "phrases.txt").write_text("overcoat, umbrela\n", encoding="utf-8")
    args = ["--vocabulary", "wardrobe", "--allow-nsfw", "--until", "rerank", "--context-tags", "hat"]

    in_terminal: TagsRequest = request_of("tags", typed("--phrases", str(tmp_path / "phrases.txt"), *args))
    phrases = {"phrases": ["overcoat", "umbrela"], "context_tags": ["hat"]}
    of_run = {"vocabulary": "wardrobe", "allow_nsfw": True, "until": "rerank"}
    in_json = TagsSubmission.model_validate({**of_run, "phrase_sets": [phrases]}).request

    assert in_terminal.phrase_sets == tuple(one.numbered(1) for one in in_json.phrase_sets)
    assert in_terminal.model_dump(exclude={"phrase_sets"}) == in_json.model_dump(exclude={"phrase_sets"})
