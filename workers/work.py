"""What a stage sees of its job, and what it gives back: the two ends of the functions of stages."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import httpx
import numpy as np
import structlog
from numpy.typing import NDArray

from adapters.limited_process import ProcessLimits
from schemas.chains import stage_that_stores
from schemas.errors import InputChangedError, LLMError, Refused, TextTooLongError
from schemas.settings.preset import Preset
from schemas.settings.run import RunSettings
from schemas.values.base import Value
from schemas.values.chat import ChatCall, ChatReply, ModelIdentity, TokenSignals
from schemas.values.participants import PHQ8Item, Reference
from stages.ports import ChatModel, Embedder, EvidenceSearch, OnText, PairScorer, ReferenceSearch, TextVectors
from store.database import Connection, Database
from store.references import interviews, references
from store.runs import attempts, call_costs, ledger, runs
from store.runs.attempts import KeyedText
from store.runs.call_costs import CallUse
from store.runs.stages import Claim
from workers.ledger_chat import CallingAttempt, LedgerChat
from workers.messages import priority_of
from workers.tag_models import TagModels
from workers.wiring import Wiring


class RejectedReplies:
    """The rejected replies of the earlier attempts of a claimed stage, read at the first use."""

    def __init__(self, database: Database, claim: Claim) -> None:
        self._database = database
        self._claim = claim
        self._found: list[CallUse] | None = None

    async def find(self, call: ChatCall, digest: str) -> CallUse | None:
        """The reply to this request, by the same weights as far as they are known; the timeout does not matter."""
        if self._claim.attempt == 1:
            return None
        if self._found is None:
            self._found = await self._database.with_retry(self._read)
        wanted = call.model_dump(mode="json", include={"messages", "temperature", "sample"})
        for use in self._found:
            is_same_model = use.model == call.model and (not use.digest or not digest or use.digest == digest)
            if is_same_model and wanted.items() <= (use.request or {}).items():
                return use
        return None

    async def note(self, use: CallUse, purpose: str) -> None:
        """Record that the attempt used the rejected reply again."""
        await self._database.ask(
            ledger.use, self._claim.attempt_id, use.call_id, f"{purpose}, rejected before", is_reused=True
        )

    async def _read(self, connection: Connection) -> list[CallUse]:
        history = await attempts.history(connection, self._claim.job_id, self._claim.stage, with_texts=False)
        earlier = [attempt.id for attempt in history if attempt.id != self._claim.attempt_id]
        uses = await call_costs.of_attempts(connection, earlier)
        return [use for attempt_id in earlier for use in uses[attempt_id] if use.is_rejected]


class _KnowingChat:
    """A chat model, and the replies of it that were rejected."""

    def __init__(self, chat: ChatModel, rejected: RejectedReplies) -> None:
        self._chat = chat
        self._rejected = rejected

    async def identity(self, model: str) -> ModelIdentity:
        """See ChatModel."""
        return await self._chat.identity(model)


class CorrectingChat(_KnowingChat):
    """The port ChatModel for stages that ask again: they get a rejected reply, and send it back with what is wrong."""

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """The rejected reply, marked, without a request; else the model's."""
        use = await self._rejected.find(call, (await self.identity(call.model)).digest)
        if use is None:
            return await self._chat.chat(call, on_text)
        await self._rejected.note(use, call.purpose)
        return ChatReply(
            text=use.reply,
            model=call.model,
            digest=use.digest,
            stop_reason=use.stop_reason,
            prompt_tokens=use.prompt_tokens,
            reply_tokens=use.reply_tokens,
            seconds=use.seconds,
            tokens=None if use.tokens is None else TokenSignals.model_validate(use.tokens),
            is_rejected=True,
        )


class ResamplingChat(_KnowingChat):
    """The port ChatModel for stages that ask once: in place of a rejected reply they get that of another sample."""

    async def chat(self, call: ChatCall, on_text: OnText | None = None) -> ChatReply:
        """The model's reply to the next sample number that was not rejected."""
        asked, digest = call, (await self.identity(call.model)).digest
        while await self._rejected.find(asked, digest) is not None:
            sample = asked.sample + 1
            purpose = f"{call.purpose}, sample {sample + 1} because an earlier reply was rejected"
            asked = asked.model_copy(update={"sample": sample, "purpose": purpose})
        return await self._chat.chat(asked, on_text)


class ReusingEmbedder:
    """The port Embedder over another one. Vectors have `dimension` numbers.

    A vector is found by a hash over its text, the model, its weights, the number format and the dimension. Of two
    tasks that embed one text at the same moment, both compute it. Where the weights are not known, nothing is reused.
    """

    def __init__(self, embedder: Embedder, database: Database, *, dimension: int) -> None:
        self._embedder = embedder
        self._database = database
        self._dimension = dimension
        self.texts: list[KeyedText] = []
        """The texts that were embedded, in order, to be stored with their vectors."""

    @property
    def name(self) -> str:
        """See Embedder."""
        return self._embedder.name

    async def digest(self) -> str:
        """See Embedder."""
        return await self._embedder.digest()

    async def dtype(self) -> str:
        """See Embedder."""
        return await self._embedder.dtype()

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        """See Embedder. A text that occurs several times is computed once."""
        digest = await self.digest() if texts else ""
        if not digest:
            return await self._embedder.embed_batch(texts, timeout_s=timeout_s, truncate=truncate)
        by_key = {self._key(text, digest, await self.dtype()): text for text in texts}
        keys = {text: key for key, text in by_key.items()}
        known = await self._database.ask(attempts.known_vectors, by_key, with_cut=truncate)
        rows = {key: (found.vector, found.is_cut) for key, found in known.items()}
        missing = [text for key, text in by_key.items() if key not in rows]
        try:
            computed = await self._embedder.embed_batch(missing, timeout_s=timeout_s, truncate=truncate)
        except TextTooLongError:
            # Raised again, before any pass, with the position among all texts.
            return await self._embedder.embed_batch(texts, timeout_s=timeout_s, truncate=truncate)
        cut = set(computed.cut)
        rows |= {
            keys[text]: (row[: self._dimension], at in cut)
            for at, (text, row) in enumerate(zip(missing, computed.vectors, strict=True))
        }
        found = [rows[keys[text]] for text in texts]
        self.texts += [KeyedText(keys[text], is_cut) for text, (_, is_cut) in zip(texts, found, strict=True)]
        return TextVectors(
            np.stack([row for row, _ in found]),
            tuple(at for at, (_, is_cut) in enumerate(found) if is_cut),
            reused=sum(keys[text] in known for text in texts),
        )

    def _key(self, text: str, digest: str, dtype: str) -> bytes:
        named = "\0".join((self.name, digest, dtype, str(self._dimension), text))
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest()


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
        found = await self.database.ask(runs.frozen, self.claim.run_id, model=model)
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
        return await self.database.ask(attempts.vectors, attempt_id)

    async def attempt_id(self, output: type[Value]) -> int:
        """The attempt that stored such an output, for statements that read its vectors. Raises as `output`."""
        return (await self._stored(output)).attempt_id

    async def transcript(self) -> str:
        """The transcript that the job was submitted with."""
        expected: str = self.claim.inputs["transcript_hash"]
        self.read["transcript"] = expected
        return await self.database.ask(
            interviews.transcript, self.claim.inputs["data_set"], self.participant_id, expected_hash=expected
        )

    async def chunk_texts(self, items: Mapping[PHQ8Item, tuple[Reference, ...]]) -> dict[int, str]:
        """The texts behind references, by chunk id; chunks that are gone are absent."""
        chunk_ids = sorted({reference.chunk_id for of_item in items.values() for reference in of_item})
        return await self.database.ask(references.chunk_texts, chunk_ids)

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
        stored = await self.database.ask(attempts.output, self.claim.job_id, stage)
        if stored is not None:
            self.read[stage] = stored.hash
        return stored


StageFunction = Callable[[Work], Awaitable[Result[Value]]]

StageFunctions = Mapping[tuple[str, str, str], StageFunction]
"""The functions of stages, by kind and mode of the job and name of the stage."""
