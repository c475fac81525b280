#!/bin/sh
# The main job from nothing to its table, on servers and models that came as packages. Called by `make demo`.
set -eu

# The demo stands on its own: servers that the environment names are left alone.
unset DATABASE_URL REDIS_URL OLLAMA_HOST OLLAMA_PORT RAGQ_OPENAI_BASE_URL
export RAGQ_PROFILE=demo
data="$RAGQ_HOME/data-set"

say() {
    printf '\n$ %s\n' "$*" >&2
    "$@"
}

trap 'say ragq down' EXIT

say ragq up --no-api --no-flower
say ragq demo-data "$data"
say ragq import participants "$data"
say ragq index references --split paper-train
say ragq submit --split paper-test --few-shot-only --limit 3 --wait
