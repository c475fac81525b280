"""Transcripts that are longer than a language model of their run reads are refused before anything is stored."""

from collections.abc import Callable
from typing import Final, NamedTuple

from schemas.errors import Refused
from schemas.settings.frozen import thaw
from schemas.values.chat import Message
from services.model_roles import asked_models
from stages.call_tokens import most_prompt_tokens, most_tokens, reply_room
from stages.participants.extract_prompt import extraction_messages
from stages.participants.score_prompt import scoring_messages
from store.database import Connection
from store.references import interviews
from store.runs.runs import NewRun

_LISTED: Final = 5
_OTHERWISE: Final = {
    "extract": "QUANTITATIVE_EVIDENCE_EXTRACTOR=similarity (finds quotes without a language model)",
    "score": "RAGQ_SCORE_INPUT=evidence (scores the passages around the evidence)",
}


async def refuse_long_transcripts(connection: Connection, run: NewRun) -> None:
    """Raise Refused, with the tokens of each, for transcripts that a model of a run of participants cannot read whole.

    A model whose context its server does not tell is given any.
    """
    if run.kind != "participant":
        return
    settings = thaw(run.settings).run
    reported = {one.model: one.context_tokens for one in run.models}
    prompts: dict[str, Callable[[str], tuple[Message, ...]]] = {"extract": extraction_messages}
    if settings.ragq.score_input == "transcript":
        mode = settings.quantitative.severity_inference_mode
        prompts["score"] = lambda transcript: scoring_messages(transcript, "", severity_mode=mode)
    rooms: dict[str, _Room] = {}
    for stage, model in asked_models(run).items():
        context = settings.ragq.context_tokens or reported.get(model)
        if stage in prompts and context:
            taken = most_prompt_tokens(prompts[stage]("")) + reply_room(context, None)
            rooms[stage] = _Room(max(context - taken, 0), context, model)
    if not rooms:
        return
    stage, room = min(rooms.items(), key=lambda found: found[1].tokens)
    hashes = {job.inputs.get("transcript_hash", ""): job.subject for job in run.jobs}
    texts = await interviews.texts_longer_than(connection, list(hashes), room.tokens)
    measured = ((most_tokens(text), hashes[one]) for one, text in texts.items())
    if not (long := sorted((one for one in measured if one[0] > room.tokens), reverse=True)):
        return
    listed = ", ".join(f"{subject} (about {tokens} tokens)" for tokens, subject in long[:_LISTED])
    more = f" and {len(long) - _LISTED} more" if len(long) > _LISTED else ""
    other = " and ".join(f"--set {_OTHERWISE[one]}" for one, of in rooms.items() if of.tokens < long[0][0])
    raise Refused(
        f"{len(long)} of {len(hashes)} transcripts are longer than model '{room.model}' reads in stage '{stage}': "
        f"participant {listed}{more}. It reads and writes {room.context} tokens together, and {room.tokens} are left "
        f"beside the instructions and the reply. Nothing was submitted. Use a model with a longer context, or {other}."
    )


class _Room(NamedTuple):
    """What a model has left for a transcript."""

    tokens: int
    context: int
    model: str
