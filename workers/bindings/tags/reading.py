"""What the stages of a tags job read beside the outputs of earlier stages. All of it is noted as input."""

from stages.tags.models import SentenceModel
from store.runs.chain import content_hash
from workers.tag_models import LoadedModels
from workers.work import Work


def phrases(work: Work) -> list[str]:
    """The phrases that the job was submitted with."""
    given: list[str] = work.claim.inputs["phrases"]
    work.read["phrases"] = content_hash(given)
    return given


def context_tags(work: Work) -> list[str]:
    """The context tags that the job was submitted with."""
    given: list[str] = work.claim.inputs["context_tags"]
    work.read["context_tags"] = content_hash(given)
    return given


def vocabulary_id(work: Work) -> int:
    """The vocabulary that was current at submission."""
    found: int = work.claim.inputs["vocabulary_id"]
    work.read["vocabulary"] = found
    return found


def min_tag_count(work: Work) -> int:
    """The minimum count of the run, or what it was at submission for the vocabulary."""
    found = work.claim.inputs.get("min_tag_count", work.settings.psq.min_tag_count)
    assert isinstance(found, int), "a minimum that follows the vocabulary is found at submission"
    work.read["min_tag_count"] = found
    return found


def sentence_model(work: Work) -> SentenceModel | None:
    """The sentence embedder of the vocabulary; None for jobs by FastText alone."""
    found = work.claim.inputs.get("sentences")
    if found is None:
        return None
    work.read["sentences"] = content_hash(found)
    return SentenceModel(**found)


async def models(work: Work) -> LoadedModels:
    """The models of that vocabulary."""
    inputs = work.claim.inputs
    return await work.tag_models.of(
        vocabulary_id(work), tokens_digest=inputs["tokens_digest"], context_digest=inputs["context_digest"]
    )
