"""What a stage sees of its job, and what it gives back: the two ends of the functions of stages."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import httpx
import numpy as np
import structlog
from numpy.typing import NDArray

from schemas.chains import stage_that_stores
from schemas.errors import DomainError, FailureCategory, LLMError, Refused, TextTooLongError
from schemas.settings.preset import Preset
from schemas.settings.run import RunSettings
from schemas.values.base import Value
from schemas.values.participants import PHQ8Item, Reference
from stages.ports import ChatModel, Embedder, TextVectors
from stages.queries.templates import TemplateTag
from store.database import Connection, Database
from store.questions import presets
from store.questions.presets import StoredTemplate
from store.references import interviews, references
from store.runs import attempts, runs
from store.runs.stages import Claim
from workers.broker import priority_of
from workers.ledger_chat import LedgerChat
from workers.wiring import Wiring


class ReusingEmbedder:
    """The port Embedder over another one. Vectors have `dimension` numbers.

    A vector is found by a hash over its text, the model, its weights, the number format and the dimension. Of two
    tasks that embed one text at the same moment, both compute it. Where the weights are not known, nothing is reused.
    """

    def __init__(self, embedder: Embedder, database: Database, *, dimension: int) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._database = database
        self._dimension = dimension
        self.texts: list[tuple[bytes, bool]] = []
        """The key of each text that was embedded, in order, to be stored with its vector, and whether it was cut."""

    async def digest(self) -> str:
        return await self._embedder.digest()

    async def dtype(self) -> str:
        return await self._embedder.dtype()

    async def embed_batch(self, texts: Sequence[str], *, timeout_s: float, truncate: bool) -> TextVectors:
        """See Embedder. A text that occurs several times is computed once."""
        digest = await self.digest() if texts else ""
        if not digest:
            return await self._embedder.embed_batch(texts, timeout_s=timeout_s, truncate=truncate)
        by_key = {self._key(text, digest, await self.dtype()): text for text in texts}
        keys = {text: key for key, text in by_key.items()}
        known = await self._database.ask(attempts.known_vectors, by_key, with_cut=truncate)
        rows = dict(known)
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
        self.texts += [(keys[text], is_cut) for text, (_, is_cut) in zip(texts, found, strict=True)]
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
    """What a stage gives to be stored, where that is more than its output."""

    output: Output_co
    vectors: NDArray[np.float32] | None = None
    effect: Callable[[Connection], Awaitable[object]] | None = None
    """Run in the transaction of the commit, after the output."""
    texts: Sequence[tuple[bytes, bool]] = ()
    """The texts of the vectors, in their order, by which equal texts find them; none for vectors of something else."""


@dataclass(frozen=True)
class Work:
    """What a stage may read and ask. Everything read is noted by name and hash as the attempt's input."""

    claim: Claim
    settings: RunSettings
    database: Database
    wiring: Wiring
    read: dict[str, Any]
    _preset: Preset | None = None
    draw: int = 0
    """The draw of the run: its calls get answers of their own."""

    @property
    def preset(self) -> Preset:
        assert self._preset is not None, "only query runs have a preset"
        return self._preset

    @property
    def participant_id(self) -> int:
        return int(self.claim.subject)

    @property
    def embedder(self) -> Embedder:
        """The embedder that the run's settings mean."""
        return self.wiring.embedder(self.settings, priority=priority_of(self.claim.kind))

    def reusing_embedder(self, dimension: int) -> ReusingEmbedder:
        """The embedder that the run's settings mean, which computes no vector again that is stored."""
        return ReusingEmbedder(self.embedder, self.database, dimension=dimension)

    def embedder_of(self, backend: str, model: str) -> Embedder:
        """An embedder by its backend and the name of its model there, whatever the run's settings are."""
        return self.wiring.embedder_of(backend, model, priority=priority_of(self.claim.kind))

    @property
    def chat(self) -> ChatModel:
        """The language model server that the run's settings mean, behind the ledger, for stages that ask again."""
        return LedgerChat(self.wiring.chat(self.settings), self.wiring.calls, self.claim, self.draw)

    @property
    def resampling_chat(self) -> ChatModel:
        """As `chat`, for stages that ask once: after a rejected reply they ask for another sample."""
        return LedgerChat(self.wiring.chat(self.settings), self.wiring.calls, self.claim, self.draw, resamples=True)

    async def reported_context(self, model: str) -> int | None:
        """The tokens that a language model has for prompt and reply: as the run found them, or as its server says now.
        None where the server does not say, or cannot be asked from here: whoever calls the model then hears of it."""
        for one in await self.database.ask(runs.frozen, self.claim.run_id):
            if one.model == model and one.identity.context_tokens is not None:
                return one.identity.context_tokens
        try:
            return (await self.chat.identity(model)).context_tokens
        except (OSError, httpx.HTTPError, LLMError, Refused) as error:
            log.warning("context_not_known", job_id=self.claim.job_id, error_type=type(error).__name__)
            return None

    async def output(self, output: type[Output]) -> Output:
        """What the stage stored that stores this type of output. Raises DomainError when it is not stored any more."""
        return output.model_validate((await self._stored(output)).value)

    async def output_if_stored(self, output: type[Output]) -> Output | None:
        """The same; None where the chain has no such stage, or it is not stored."""
        stored = await self._find(output)
        return None if stored is None else output.model_validate(stored.value)

    async def vectors(self, output: type[Value]) -> NDArray[np.float32]:
        """The vectors that were stored with such an output, one row each in stored order. Raises as `output`. For the
        ports of searches, which take arrays, so that they are tested and replaced without a database."""
        attempt_id = await self.attempt_id(output)
        return await self.database.ask(attempts.vectors, attempt_id)

    async def attempt_id(self, output: type[Value]) -> int:
        """The attempt that stored such an output, for statements that read its vectors. Raises as `output`."""
        return (await self._stored(output)).attempt_id

    async def template(self, tag: TemplateTag) -> StoredTemplate:
        """The version of the template that was active at submission; of a template that is newer, the active one."""
        version: int | None = self.claim.inputs["templates"].get(tag)
        found = await self.database.ask(presets.template, tag, version)
        self.read[f"template {tag}"] = found.version
        return found

    async def transcript(self) -> str:
        expected: str = self.claim.inputs["transcript_hash"]
        self.read["transcript"] = expected
        return await self.database.ask(
            interviews.transcript, self.claim.inputs["data_set"], self.participant_id, expected_hash=expected
        )

    async def chunk_texts(self, items: Mapping[PHQ8Item, tuple[Reference, ...]]) -> dict[int, str]:
        """The texts behind references, by chunk id; chunks that are gone are absent."""
        chunk_ids = sorted({reference.chunk_id for of_item in items.values() for reference in of_item})
        return await self.database.ask(references.chunk_texts, chunk_ids)

    async def _stored(self, output: type[Value]) -> attempts.Output:
        stored = await self._find(output)
        if stored is None:
            stage = stage_that_stores(self.claim.kind, self.claim.mode, output)
            raise DomainError(
                f"Stage '{self.claim.stage}' of job j{self.claim.job_id} needs '{stage}', which is not stored.",
                FailureCategory.INPUT_CHANGED,
            )
        return stored

    async def _find(self, output: type[Value]) -> attempts.Output | None:
        stage = stage_that_stores(self.claim.kind, self.claim.mode, output)
        stored = await self.database.ask(attempts.output, self.claim.job_id, stage)
        if stored is not None:
            self.read[stage] = stored.hash
        return stored


StageFunction = Callable[[Work], Awaitable[Value | Result[Value]]]

StageFunctions = Mapping[tuple[str, str, str], StageFunction]
"""The functions of stages, by kind and mode of the job and name of the stage."""
