"""Stage `assemble` of a participant: the reference block and the scoring prompt."""

from schemas.values.participants import AssembledPrompt, ExtractedEvidence, ValidatedReferences
from schemas.values.phq8 import AssessmentMode
from stages.participants.assemble import assemble_prompt
from stages.participants.passages import passages_of
from workers.work import Result, Work


async def run(work: Work) -> Result[AssembledPrompt]:
    """The prompt with the validated references; in zero-shot mode without any.

    It fits into the context of the model that is going to score, as far as that is known.
    """
    items = None
    if work.claim.mode == AssessmentMode.FEW_SHOT:
        items = (await work.output(ValidatedReferences)).items
    transcript = (await work.transcript()).text
    passages = None
    if work.settings.ragq.score_input == "evidence":
        passages = passages_of(transcript, (await work.output(ExtractedEvidence)).quotes)
    context_tokens = None
    if items and work.settings.ragq.scorer == "model":
        context_tokens = work.settings.ragq.context_tokens or await work.reported_context(
            work.settings.model.quantitative_model
        )
        work.read["context_tokens"] = context_tokens
    return Result(
        assemble_prompt(
            transcript,
            items,
            await work.chunk_texts(items or {}),
            passages=passages,
            severity_mode=work.settings.quantitative.severity_inference_mode,
            prompt_format=work.settings.ragq.prompt_format,
            context_tokens=context_tokens,
        )
    )
