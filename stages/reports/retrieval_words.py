"""A report of a run of queries in words: what ran, which queries count, and what the validator is worth."""

from schemas.values.metrics import Interval
from schemas.values.retrieval_reports import QueryCounts, RetrievalProvenance, ValidatorQuality
from stages.reports.numbers_in_words import bounds, number


def made_with(provenance: RetrievalProvenance) -> dict[str, str]:
    """What ran, in words; only what there is."""
    named = {
        "corpus": provenance.corpora,
        "embedded by": provenance.embedding_models,
        "lexical": provenance.lexical,
        "fusion": provenance.fusions,
        "ranker": provenance.rankers,
        "validator": provenance.validators,
    }
    return {what: ", ".join(names) for what, names in named.items() if names}


def remarks(counts: QueryCounts) -> list[str]:
    """Which queries count, and which do not."""
    judged = f"{counts.judged} of {counts.submitted} queries are judged"
    lines = [f"{judged}: {counts.failed} of these failed, {counts.unfinished} are unfinished."]
    left_out = {
        "without a judgement": counts.without_judgement,
        "without a relevant document": counts.without_relevant,
        "with chunks that are stored no more": counts.chunks_gone,
    }
    if any(left_out.values()):
        reasons = ", ".join(f"{count} {what}" for what, count in left_out.items() if count)
        lines.append(f"In no mean: {reasons}.")
    if counts.unknown_documents:
        lines.append(
            f"Relevant documents that the corpus does not have, missed in every recall: {counts.unknown_documents}."
        )
    return lines


def validator_in_words(found: ValidatorQuality) -> str:
    """Precision and recall of accept, and over what."""
    return (
        f"Validator against the judgements: precision of accept {_inline(found.precision)}, recall "
        f"{_inline(found.recall)}; {found.accepted} accepted, {found.rejected} rejected, {found.unsure} unsure of "
        f"{found.asked} chunks of {found.queries} queries, {found.relevant} of them relevant. "
        "What is not judged counts as not relevant."
    )


def _inline(interval: Interval) -> str:
    return f"{number(interval.value)} {bounds(interval)}".rstrip()
