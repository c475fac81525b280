"""The defaults of settings and presets, of which a test changes what it is about."""

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel

from schemas.settings.preset import ORIGINAL, Preset
from schemas.settings.run import RunSettings
from stages.participants.assemble import assemble_prompt as _assemble_prompt
from stages.participants.assemble import reference_block as _reference_block
from stages.queries.rerank import by_cross_encoder as _by_cross_encoder
from stages.queries.rerank import rerank_chunks as _rerank_chunks
from stages.queries.rerank import select_diverse as _select_diverse
from stages.queries.validate import keep_all as _keep_all
from stages.tags.rerank import rank_tags as _rank_tags

RUN = RunSettings()
GROUNDING = RUN.quantitative
#: The limits of the original pipeline, which the specification of the stages names.
_PRESET = Preset().changed(ORIGINAL | {"retrieval.fusion": "zscore", "retrieval.lexical": "bm25"}, origin="test")
Group = TypeVar("Group", bound=BaseModel)


def _with(group: Group, **values: Any) -> Group:
    return group.model_copy(update=values)


def settings(**groups: Mapping[str, Any]) -> RunSettings:
    """The settings of a run with other values in some groups, such as `ragq={"reply_retries": 0}`."""
    return _with(RUN, **{name: _with(getattr(RUN, name), **values) for name, values in groups.items()})


retrieval = partial(_with, _PRESET.retrieval)
validation = partial(_with, _PRESET.validation)
augmentation = partial(_with, _PRESET.augmentation)


assemble_prompt = partial(_assemble_prompt, passages=None, settings=RUN)
reference_block = partial(_reference_block, prompt_format=RUN.ragq.prompt_format)

select_diverse = partial(_select_diverse, mmr_lambda=_PRESET.retrieval.mmr_lambda)
by_cross_encoder = partial(_by_cross_encoder, preset=retrieval())
rerank_chunks = partial(_rerank_chunks, preset=retrieval(), allow_empty=_PRESET.validation.allow_empty)
keep_all = partial(_keep_all, allow_empty=_PRESET.validation.allow_empty)

rank_tags = partial(
    _rank_tags, context_weight=RUN.psq.context_weight, per_phrase_final_k=None, global_k=RUN.psq.retrieval_global_k
)
