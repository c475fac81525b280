"""Models of sentence-transformers, inside this process: embedding models and cross-encoders."""

import asyncio
import os
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from math import isfinite
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np
import structlog

from adapters.weights import (
    PACKAGED_EMBEDDER,
    cached_folder,
    embedder_folder,
    local_folder,
    prepare_torch,
    weights_digest,
)
from schemas.errors import DomainError, FailureCategory, LLMTimeoutError, RerankerUnavailableError
from stages.ports import Vectors
from stages.vectors import seen_tokens

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder, SentenceTransformer


def fitting_dtype() -> str:
    """`bfloat16` where the processor has AMX or AVX-512 for it, or the GPU supports it; `float16` on other GPUs.
    Otherwise `float32`: processors without these instructions compute a shorter format more slowly. Imports torch."""
    import torch
    from sentence_transformers.util import get_device_name

    device = get_device_name()
    if device == "cpu":
        has = torch.cpu.get_capabilities()
        return "bfloat16" if has.get("amx_bf16") or has.get("avx512_bf16") else "float32"
    if device == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        return "bfloat16"
    return "float16"


log = structlog.get_logger("ragq.encoder")

BUSY = 1.5
"""Load average of the last minute, by core, above which other work holds the cores; a worker alone causes one."""

PADDED_TO = 16
"""Tokens; a larger value computes more padding, a smaller one leaves fewer texts to share a pass."""


class _LocalModel:
    """A model by the name of the packaged one, a folder, or the id of a model hub. Only an id may use the network, and
    only for files that are not in the local cache. `threads` limits torch for the whole process."""

    def __init__(self, name: str, *, threads: int | None) -> None:
        self.name = name
        self._threads = threads

    def _prepare(self) -> None:
        """Before sentence-transformers is imported."""
        prepare_torch()
        import torch
        from transformers.utils import logging as transformers_logging

        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        if self._threads is not None:
            torch.set_num_threads(self._threads)

    @cached_property
    def _model(self) -> object:
        raise NotImplementedError

    @cached_property
    def _folder(self) -> Path | None:
        return embedder_folder() if self.name == PACKAGED_EMBEDDER else local_folder(self.name)

    @cached_property
    def _digest(self) -> str:
        """The SHA-256 of the weights; for several weight files, over their names and hashes."""
        if self._folder is not None:
            return weights_digest(self._folder)
        _ = self._model  # Loading downloads files that are not in the hub's cache yet.
        return weights_digest(cached_folder(self.name))


class SentenceTransformerEncoder(_LocalModel):
    """The port TextEncoder over one model, which is loaded once, at the first call that needs it.

    `dtype` is `float32`, `bfloat16`, `float16`, or `auto` for what the device is fast with. Without `threads` it takes
    all cores, and one thread while other work keeps the machine busy. May be called from any thread: calls take turns,
    because a tokenizer is not thread-safe.
    """

    def __init__(self, name: str, *, dtype: str = "float32", threads: int | None = None, batch_size: int = 32) -> None:
        super().__init__(name, threads=threads)
        self._asked_dtype = dtype
        self._batch_size = batch_size
        self._turn = RLock()
        self._counted: dict[str, int] = {}
        """The whole tokens of the texts that were counted last: who counts texts encodes them next."""

    @cached_property
    def digest(self) -> str:
        with self._turn:
            return self._digest

    @cached_property
    def dtype(self) -> str:
        """See TextEncoder. Imports torch and does not load the model."""
        prepare_torch()
        return fitting_dtype() if self._asked_dtype == "auto" else self._asked_dtype

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See TextEncoder.

        How far a text is padded shows in the last bits of its row. So each is padded to the next multiple of
        PADDED_TO tokens, and goes through the model with texts of the same padded length alone.
        """
        with self._turn:
            matrix = np.zeros((len(texts), self._model.get_embedding_dimension() or 0), dtype=np.float32)
            alike = defaultdict(list)
            for position, tokens in enumerate(seen_tokens(self.count_whole_tokens(texts), self.max_tokens)):
                alike[-(-tokens // PADDED_TO)].append(position)
            for positions in alike.values():
                matrix[positions] = self._pass([texts[position] for position in positions])
            return matrix

    def count_whole_tokens(self, texts: Sequence[str]) -> list[int]:
        with self._turn:
            if not self._counted.keys() >= set(texts):
                ids = self._model.tokenizer(list(texts), truncation=False, verbose=False)["input_ids"]
                self._counted = dict(zip(texts, map(len, ids), strict=True))
            return [self._counted[text] for text in texts]

    @property
    def max_tokens(self) -> int | None:
        with self._turn:
            return self._model.max_seq_length

    def _pass(self, texts: list[str]) -> Vectors:
        model = self._model
        if self._threads is None:
            _adapt_threads()
        encoded = model.encode(
            texts,
            batch_size=self._batch_size,
            show_progress_bar=False,
            convert_to_tensor=True,
            processing_kwargs={"text": {"pad_to_multiple_of": PADDED_TO}},
        )
        rows: Vectors = encoded.float().cpu().numpy()
        return rows

    @cached_property
    def _model(self) -> "SentenceTransformer":
        dtype = self.dtype
        self._prepare()
        import torch
        from sentence_transformers import SentenceTransformer

        folder = self._folder
        model = SentenceTransformer(
            self.name if folder is None else str(folder),
            local_files_only=folder is not None,
            model_kwargs={"dtype": getattr(torch, dtype)},
        )
        # Modules after the transformer, such as a dense layer, are loaded in float32 whatever was asked for.
        model.to(dtype=getattr(torch, dtype))
        log.info(
            "embedding_model_loaded",
            model=self.name,
            device=model.device.type,
            dtype=dtype,
            requested_dtype=self._asked_dtype,
            threads=torch.get_num_threads(),
        )
        return model


def _adapt_threads() -> None:
    """One thread where more work wants to run than there are cores, and as many as cores otherwise. Threads that share
    a pass wait for the last of them, which waits for a core."""
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = 1 if os.getloadavg()[0] > BUSY * cores else cores
    if torch.get_num_threads() != wanted:
        torch.set_num_threads(wanted)


_TRAINED_TO_SCORE = ("ForSequenceClassification", "ForCausalLM")
"""Suffixes of architectures whose weights include the head that turns a pair into a score."""


class CrossEncoderScorer(_LocalModel):
    """The port PairScorer over one model, which is loaded once, at the first call that needs it.

    Loading and scoring take turns on one thread, so that the caller's event loop is not blocked. Callers take turns
    too: the time-out of one does not count the batches of others, but for one that runs when its caller times out.
    """

    def __init__(self, name: str, *, threads: int | None = None) -> None:
        super().__init__(name, threads=threads)
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cross-encoder")
        self._turn = asyncio.Lock()

    async def digest(self) -> str:
        return await asyncio.get_running_loop().run_in_executor(self._executor, lambda: self._digest)

    async def score_pairs(
        self, query: str, passages: Sequence[str], *, timeout_s: float, batch_size: int, max_tokens: int
    ) -> list[float]:
        """See PairScorer. Passages of similar length share a batch, since all in it are padded to the longest."""
        by_length = sorted(range(len(passages)), key=lambda position: len(passages[position]))
        logits = [0.0] * len(passages)
        loop = asyncio.get_running_loop()
        async with self._turn:
            try:
                async with asyncio.timeout(timeout_s):
                    for start in range(0, len(by_length), batch_size):
                        positions = by_length[start : start + batch_size]
                        pairs = [(query, passages[position]) for position in positions]
                        scored = await loop.run_in_executor(self._executor, self._score, pairs, max_tokens)
                        for position, logit in zip(positions, scored, strict=True):
                            logits[position] = logit
            except TimeoutError:
                raise LLMTimeoutError(timeout_s) from None
        if unusable := sum(not isfinite(logit) for logit in logits):
            raise DomainError(
                f"Cross-encoder '{self.name}' gave {unusable} of {len(logits)} scores that are not finite numbers; "
                "its weights are invalid, or this machine does not support its number format. Choose another model.",
                FailureCategory.RERANK_ERROR,
            )
        return logits

    async def close(self) -> None:
        """End the thread without waiting for a running batch."""
        self._executor.shutdown(wait=False, cancel_futures=True)

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
        self._prepare()
        from sentence_transformers import CrossEncoder

        folder = self._folder
        try:
            model: CrossEncoder = CrossEncoder(str(folder or self.name), local_files_only=folder is not None)
        except (OSError, ValueError) as error:
            raise RerankerUnavailableError(
                f"Cross-encoder '{self.name}' cannot be loaded ({type(error).__name__}); name the folder of one, or "
                "its id on the model hub."
            ) from error
        # Loading fills a missing head with random weights, without an error.
        architectures = model.model.config.architectures or () if model.model is not None else ()
        has_head = any(name.endswith(_TRAINED_TO_SCORE) for name in architectures)
        if model.num_labels != 1 or (len(model) == 1 and not has_head):
            raise DomainError(
                f"'{self.name}' is not a cross-encoder: it does not return one score per pair "
                f"({', '.join(architectures) or 'unknown architecture'}, {model.num_labels} labels).",
                FailureCategory.RERANK_ERROR,
            )
        return model
