"""What a stage sees of its job, and what it gives back: the two ends of the functions of stages."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import httpx
import numpy as np
import structlog
from numpy.typing import NDArray

from adapters.limited_process import ProcessLimits
from schemas.chains import stage_that_stores
from schemas.errors import InputChangedError, LLMError, Refused
from schemas.settings.preset import Preset
from schemas.settings.run import RunSettings
from schemas.values.base import Value
from schemas.values.participants import Reference
from schemas.values.phq8 import PHQ8Item
from stages.ports import ChatModel, Embedder, EvidenceSearch, PairScorer, ReferenceSearch
from store.database import Connection, Database
from store.references import interviews, references
from store.references.interviews import StoredTranscript
from store.runs import attempts, run_models, stage_vectors
from store.runs.known_vectors import KeyedText
from store.runs.stages import Claim
from workers.ledger_chat import CallingAttempt, LedgerChat
from workers.priorities import priority_of
from workers.rejected_replies import CorrectingChat, RejectedReplies, ResamplingChat
from workers.reusing_embedder import ReusingEmbedder
from workers.tag_models import TagModels
from workers.wiring import Wiring

log = structlog.get_logger("ragq.stages")

Output = TypeVar("Output", bound=Value)
Output_co = TypeVar("Output_co", bound=Value, covariant=True)


class Result(NamedTuple, Generic[Output_co]):
    """What a stage gives to be stored."""

    output: Output_co
    vectors: NDArray[np.float32] | None = None
    effect: Callable[[Connection], Awaitable[None]] | None = None
    """Run in the transaction of the commit, after the output."""
    texts: Sequence[KeyedText] = ()
    """The texts of the vectors, in their order, by which equal texts find them; none for vectors of something else."""


@dataclass(frozen=True)
class Work:
    """What a stage may read and ask. Everything read is noted by name and hash as the attempt's input."""

    claim: Claim
    settings: RunSettings
    database: Database
    _wiring: Wiring
    read: dict[str, Any]
    _preset: Preset | None = None
    draw: int = 0
    """The draw of the run: its calls get answers of their own."""

    @property
    def preset(self) -> Preset:
        """The preset of a query run."""
        assert self._preset is not None, "only query runs have a preset"
        return self._preset

    @property
    def participant_id(self) -> int:
        """The participant that the job is about."""
        return int(self.claim.subject)

    @property
    def number_in_index(self) -> int | None:
        """The participant's number in the index that is searched; None in one of another data set, where it is another
        person's.
        """
        inputs = self.claim.inputs
        return self.participant_id if inputs["index_data_set"] == inputs["data_set"] else None

    @property
    def embedder(self) -> Embedder:
        """The embedder that the run's settings mean."""
        return self._wiring.embedder(self.settings, priority=priority_of(self.claim.kind))

    def reusing_embedder(self, dimension: int) -> ReusingEmbedder:
        """The embedder that the run's settings mean, which computes no vector again that is stored."""
        return ReusingEmbedder(self.embedder, self.database, dimension=dimension)

    def embedder_of(self, backend: str, model: str) -> Embedder:
        """An embedder by its backend and the name of its model there, whatever the run's settings are."""
        return self._wiring.embedder_of(backend, model, priority=priority_of(self.claim.kind))

    def pair_scorer(self, model: str) -> PairScorer:
        """A cross-encoder by folder or hub id."""
        return self._wiring.pair_scorer(model)

    @property
    def chat(self) -> ChatModel:
        """The language model server that the run's settings mean, behind the ledger, for stages that ask again."""
        return CorrectingChat(self._ledger_chat(), RejectedReplies(self.database, self.claim))

    @property
    def resampling_chat(self) -> ChatModel:
        """As `chat`, for stages that ask once: after a rejected reply they ask for another sample."""
        return ResamplingChat(self._ledger_chat(), RejectedReplies(self.database, self.claim))

    async def reported_context(self, model: str) -> int | None:
        """The tokens that a language model has for prompt and reply: as the run found them, or as its server says now.

        None where the server does not say, or cannot be asked from here: whoever calls the model then hears of it.
        """
        found = await self.database.with_retry(
            lambda connection: run_models.frozen(connection, self.claim.run_id, model=model)
        )
        for one in found:
            if one.identity.context_tokens is not None:
                return one.identity.context_tokens
        try:
            return (await self._ledger_chat().identity(model)).context_tokens
        except (OSError, httpx.HTTPError, LLMError, Refused) as error:
            log.warning("context_not_known", job_id=self.claim.job_id, error_type=type(error).__name__)
            return None

    @property
    def tag_models(self) -> TagModels:
        """The models of vocabularies."""
        return self._wiring.tag_models

    @property
    def document_limits(self) -> ProcessLimits:
        """The limits of a process that converts a document."""
        return self._wiring.document_limits

    @property
    def references(self) -> ReferenceSearch:
        """The reference indexes."""
        return self._wiring.references

    @property
    def evidence(self) -> EvidenceSearch:
        """The evidence of the participants of the reference indexes."""
        return self._wiring.evidence

    async def output(self, output: type[Output]) -> Output:
        """What the earlier stage of the chain stored that stores this type of output.

        Raises InputChangedError when it is not stored any more.
        """
        return output.model_validate((await self._stored(output)).value)

    async def output_if_stored(self, output: type[Output]) -> Output | None:
        """The same; None where the chain has no such stage, or it is not stored."""
        stored = await self._find(output)
        return None if stored is None else output.model_validate(stored.value)

    async def vectors(self, output: type[Value]) -> NDArray[np.float32]:
        """The vectors that were stored with such an output, one row each in stored order. Raises as `output`.

        For the ports of searches, which take arrays, so that they are tested and replaced without a database.
        """
        attempt_id = await self.attempt_id(output)
        return await self.database.with_retry(lambda connection: stage_vectors.of_attempt(connection, attempt_id))

    async def attempt_id(self, output: type[Value]) -> int:
        """The attempt that stored such an output, for statements that read its vectors. Raises as `output`."""
        return (await self._stored(output)).attempt_id

    async def transcript(self) -> StoredTranscript:
        """The transcript that the job was submitted with."""
        expected: str = self.claim.inputs["transcript_hash"]
        self.read["transcript"] = expected
        return await self.database.with_retry(
            lambda connection: interviews.transcript(
                connection, self.claim.inputs["data_set"], self.participant_id, expected_hash=expected
            )
        )

    async def chunk_texts(self, items: Mapping[PHQ8Item, tuple[Reference, ...]]) -> dict[int, str]:
        """The texts behind references, by chunk id; chunks that are gone are absent."""
        chunk_ids = sorted({reference.chunk_id for of_item in items.values() for reference in of_item})
        return await self.database.with_retry(lambda connection: references.chunk_texts(connection, chunk_ids))

    def _ledger_chat(self) -> LedgerChat:
        return LedgerChat(
            self._wiring.chat(self.settings),
            self.database,
            CallingAttempt.of(self.claim, self.draw),
            self._wiring.in_flight_calls,
            self._wiring.frozen_models,
            self._wiring.call_limits,
        )

    async def _stored(self, output: type[Value]) -> attempts.Output:
        stored = await self._find(output)
        if stored is None:
            stage = stage_that_stores(self.claim.kind, self.claim.mode, output)
            raise InputChangedError(
                f"Stage '{self.claim.stage}' of job j{self.claim.job_id} needs '{stage}', which is not stored."
            )
        return stored

    async def _find(self, output: type[Value]) -> attempts.Output | None:
        stage = stage_that_stores(self.claim.kind, self.claim.mode, output)
        stored = await self.database.with_retry(
            lambda connection: attempts.output(connection, self.claim.job_id, stage)
        )
        if stored is not None:
            self.read[stage] = stored.hash
        return stored


StageFunction = Callable[[Work], Awaitable[Result[Value]]]

StageFunctions = Mapping[tuple[str, str, str], StageFunction]
"""The functions of stages, by kind and mode of the job and name of the stage."""
