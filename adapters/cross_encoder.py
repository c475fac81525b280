"""A cross-encoder of sentence-transformers, inside this process."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

from adapters.weights import cached_folder, local_folder, prepare_torch, weights_digest
from schemas.errors import LLMTimeoutError, RerankError, RerankerUnavailableError

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_TRAINED_TO_SCORE = ("ForSequenceClassification", "ForCausalLM")
"""Suffixes of architectures whose weights include the head that turns a pair into a score."""


class CrossEncoderScorer:
    """The port PairScorer over one model, which is loaded once, at the first call that needs it.

    `name` is a folder or the id of a model hub. Only an id may use the network, and only for files that are not
    in the local cache. `threads` limits torch for the whole process; None keeps torch's default. Loading and scoring
    take turns on one thread, so that the caller's event loop is not blocked. Callers take turns too: the time-out of
    one does not count the batches of others. A batch that runs when its caller times out ends by itself; the next
    caller waits for it, at most for its own time-out.
    """

    def __init__(self, name: str, *, threads: int | None = None) -> None:
        self._name = name
        self._threads = threads
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cross-encoder")
        self._turn = asyncio.Lock()
        self._running: Future[list[float]] | None = None

    @property
    def name(self) -> str:
        """See PairScorer."""
        return self._name

    async def digest(self) -> str:
        """See PairScorer: the SHA-256 of the weights; for several weight files, over their names and hashes."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, lambda: self._digest)

    async def score_pairs(
        self, query: str, passages: Sequence[str], *, timeout_s: float, batch_size: int, max_tokens: int
    ) -> list[float]:
        """See PairScorer. Passages of similar length share a batch, since all in it are padded to the longest."""
        by_length = sorted(range(len(passages)), key=lambda position: len(passages[position]))
        logits = [0.0] * len(passages)
        async with self._turn:
            await self._wait_for_abandoned_batch(timeout_s)
            try:
                async with asyncio.timeout(timeout_s):
                    for start in range(0, len(by_length), batch_size):
                        positions = by_length[start : start + batch_size]
                        pairs = [(query, passages[position]) for position in positions]
                        self._running = self._executor.submit(self._score, pairs, max_tokens)
                        scored = await asyncio.wrap_future(self._running)
                        for position, logit in zip(positions, scored, strict=True):
                            logits[position] = logit
            except TimeoutError:
                raise LLMTimeoutError(timeout_s) from None
        if unusable := sum(not isfinite(logit) for logit in logits):
            raise RerankError(
                f"Cross-encoder '{self._name}' gave {unusable} of {len(logits)} scores that are not finite numbers; "
                "its weights are invalid, or this machine does not support its number format. Choose another model."
            )
        return logits

    async def close(self) -> None:
        """End the thread without waiting for a running batch."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    async def _wait_for_abandoned_batch(self, timeout_s: float) -> None:
        if self._running is not None and not self._running.done():
            _, unfinished = await asyncio.wait([asyncio.wrap_future(self._running)], timeout=timeout_s)
            if unfinished:
                raise LLMTimeoutError(timeout_s)

    def _score(self, pairs: list[tuple[str, str]], max_tokens: int) -> list[float]:
        from torch.nn import Identity

        limit = min(max_tokens, self._model.max_seq_length or max_tokens)
        logits = self._model.predict(
            pairs,
            batch_size=len(pairs),
            show_progress_bar=False,
            activation_fn=Identity(),
            processing_kwargs={"text": {"max_length": limit, "truncation": True}},
        )
        return [float(logit) for logit in logits]

    @cached_property
    def _model(self) -> "CrossEncoder":
        prepare_torch()
        import torch
        from sentence_transformers import CrossEncoder
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        if self._threads is not None:
            torch.set_num_threads(self._threads)
        folder = local_folder(self._name)
        try:
            model: CrossEncoder = CrossEncoder(str(folder or self._name), local_files_only=folder is not None)
        except (OSError, ValueError) as error:
            raise RerankerUnavailableError(
                f"Cross-encoder '{self._name}' cannot be loaded ({type(error).__name__}); name the folder of one, or "
                "its id on the model hub."
            ) from error
        # Loading fills a missing head with random weights, without an error.
        architectures = model.model.config.architectures or () if model.model is not None else ()
        if model.num_labels != 1 or (len(model) == 1 and not any(map(_is_trained_to_score, architectures))):
            raise RerankError(
                f"'{self._name}' is not a cross-encoder: it does not return one score per pair "
                f"({', '.join(architectures) or 'unknown architecture'}, {model.num_labels} labels)."
            )
        return model

    @cached_property
    def _digest(self) -> str:
        if (folder := local_folder(self._name)) is not None:
            return weights_digest(folder)
        _ = self._model  # Loading downloads files that are not in the hub's cache yet.
        return weights_digest(cached_folder(self._name))


def _is_trained_to_score(architecture: str) -> bool:
    return architecture.endswith(_TRAINED_TO_SCORE)
