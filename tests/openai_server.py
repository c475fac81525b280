"""llama.cpp's own OpenAI-compatible server over the packaged model; ends with SIGTERM."""

import signal

import xllamacpp

from adapters.packaged import llm_file

if __name__ == "__main__":
    params = xllamacpp.CommonParams()
    params.model.path = str(llm_file())
    params.n_ctx = 2048
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.sampling.penalty_repeat = 1.1  # Without it so small a model repeats itself and never closes its JSON.
    params.verbosity = -1
    server = xllamacpp.Server(params)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"listening at {server.listening_address}", flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        del server
