"""SmolLM2 on llama.cpp inside this process: one conversation at a time, the same answer every time.

One slot, on purpose. With two slots in one batch the rounding of a reply depends on what else is being generated, and
temperature 0 gave other texts in 4 of 8 cases, at no gain in speed on two cores. With one slot and no reuse of
earlier prompts, a reply depends on its request alone. docs/decisions/embedded-llm.md compares slots, contexts, the
cache of prompts and llama.cpp's own server.
"""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adapters.weights import let_threads_sleep

CONTEXT_TOKENS = 8192
"""What SmolLM2 was trained with. Half the memory of the process is this context."""
PROMPT_BATCH_TOKENS = 512
"""A prompt is read in steps of this many tokens, about 2 s each on two cores; between steps it can be given up."""


class GenerationRefused(Exception):
    """The request cannot be carried out. The message may name parts of a schema, never of a prompt."""


class GenerationCancelled(Exception):
    """Nobody waits for the reply any more."""


class EmbeddedLLM:
    """A GGUF model, loaded at construction. Blocking; call `generate` from one thread at a time. llama.cpp puts its own
    handlers on SIGINT and SIGTERM while it loads: set yours afterwards."""

    def __init__(self, gguf: Path, *, threads: int) -> None:
        let_threads_sleep()
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(gguf)
        params.n_ctx = CONTEXT_TOKENS
        params.n_parallel = 1
        params.n_batch = PROMPT_BATCH_TOKENS
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.cache_ram_mib = 0
        # llama.cpp would log prompts; and it opens a port of its own, which nobody is to use.
        params.verbosity = -1
        params.hostnames = ["127.0.0.1"]
        params.api_keys = [secrets.token_urlsafe()]
        params.endpoint_slots = params.ui = False
        self._server = xllamacpp.Server(params)

    def generate(
        self, request: dict[str, Any], *, num_ctx: int, on_text: Callable[[str], None], is_cancelled: Callable[[], bool]
    ) -> dict[str, Any]:
        """Answer a chat request in llama.cpp's own terms, piece by piece; how it ended, in those of Ollama.

        `done_reason` is `stop`, by itself, or `length`, at the limit of tokens or of the context. Where the request
        asked for them, `logprobs` has `token`, `bytes`, `logprob` and `top_logprobs` of each token of the reply, of the
        model's whole vocabulary, before a schema, a penalty or the temperature changes anything.

        Raises GenerationRefused, before any text, when prompt and one token do not fit into `num_ctx` or into the
        model's context, and when the request itself is wrong, a schema that cannot be held to, say. Raises
        GenerationCancelled soon after `is_cancelled` has become true, at once when it was from the start.
        """
        if is_cancelled():
            raise GenerationCancelled
        refusal: str | None = None
        stop_reason: str | None = None
        timings: dict[str, Any] = {}
        logprobs: list[dict[str, Any]] = []

        def take(chunk: dict[str, Any]) -> bool:
            """Take one chunk; True ends the generation."""
            nonlocal refusal, stop_reason, timings
            prompt_tokens = chunk.get("prompt_progress", {}).get("total", 0)
            if (error := chunk.get("error")) is not None:
                refusal = f"llama.cpp answered with {error.get('type')}"
                if error.get("type") == "exceed_context_size_error":
                    refusal = _too_long(error["n_prompt_tokens"], error["n_ctx"])
            elif prompt_tokens >= num_ctx:
                refusal = _too_long(prompt_tokens, num_ctx)
            if refusal is not None:
                return True
            for choice in chunk["choices"]:
                if text := choice["delta"].get("content"):
                    on_text(text)
                logprobs.extend((choice.get("logprobs") or {}).get("content") or ())
                stop_reason = choice["finish_reason"] or stop_reason
            timings = chunk.get("timings", timings)
            return is_cancelled()

        whole = {**request, "stream": True, "return_progress": True, "cache_prompt": False}
        try:
            self._server.handle_chat_completions(whole, take)
        except ValueError as error:
            raise GenerationRefused(f"the request cannot be carried out: {error}") from None
        if refusal is not None:
            raise GenerationRefused(refusal)
        if stop_reason is None:
            raise GenerationCancelled
        ending: dict[str, Any] = {
            "done_reason": stop_reason,
            "prompt_eval_count": timings["prompt_n"],
            "eval_count": timings["predicted_n"],
        }
        return ending | ({"logprobs": logprobs} if logprobs else {})


def _too_long(prompt_tokens: int, context_tokens: int) -> str:
    return f"the prompt exceeds the context length: {prompt_tokens} tokens against {context_tokens}"
