"""llama.cpp's own server, with OpenAI's API, over the packaged model, on a free port of loopback until SIGTERM."""

import signal

import xllamacpp

from adapters.weights import PACKAGED_LLM, llm_file
from stack.embedded_llm import PROMPT_BATCH_TOKENS


def main() -> None:
    """Serve."""
    params = xllamacpp.CommonParams()
    params.model.path = str(llm_file())
    params.model_alias = {PACKAGED_LLM}
    params.n_ctx = 2048
    params.n_parallel = 1
    params.n_batch = PROMPT_BATCH_TOKENS
    params.cache_prompt = False
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    # As stack.llm_server has it. Without it so small a model repeats itself and never closes its JSON.
    params.sampling.penalty_repeat = 1.1
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
