"""llama.cpp's own server, with OpenAI's API, over the packaged model: `python -m benchmarks.llama_server`."""

import signal
from pathlib import Path

import click
import xllamacpp

from adapters.weights import PACKAGED_LLM
from stack.embedded_llm import CONTEXT_TOKENS, PROMPT_BATCH_TOKENS
from stack.llm_weights import embedded_weights

REPEAT_PENALTY = 1.1
"""As stack.llm_server has it. Without it so small a model repeats itself and never closes its JSON."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--threads", default=1, show_default=True, help="Cores to compute on.")
@click.option("--slots", default=1, show_default=True, help="Requests that are computed at the same time.")
@click.option(
    "--context", default=CONTEXT_TOKENS, show_default=True, help="Tokens of a prompt and its reply, for each slot."
)
@click.option("--cache/--no-cache", default=True, show_default=True, help="Reuse what the last prompt has in common.")
@click.option("--weights", type=click.Path(exists=True, path_type=Path), help="Another GGUF file of the model.")
def main(threads: int, slots: int, context: int, cache: bool, weights: Path | None) -> None:
    """Serve on a free port of loopback until SIGTERM.

    Example: python -m benchmarks.llama_server --no-cache
    """
    params = xllamacpp.CommonParams()
    params.model.path = str(weights or embedded_weights())
    params.model_alias = {PACKAGED_LLM}
    params.n_ctx = context * slots
    params.n_parallel = slots
    params.n_batch = PROMPT_BATCH_TOKENS
    params.cache_prompt = cache
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.sampling.penalty_repeat = REPEAT_PENALTY
    params.verbosity = -1
    server = xllamacpp.Server(params)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"listening at {server.listening_address}", flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        del server


if __name__ == "__main__":
    main()
