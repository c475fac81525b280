#!/bin/sh
# Runs the main job on packaged servers and models and prints its table. Called by `make demo`.
set -eu

# The demo starts its servers; those that the environment names are not used.
unset DATABASE_URL REDIS_URL OLLAMA_HOST OLLAMA_PORT RAGQ_OPENAI_BASE_URL
export RAGQ_PROFILE=demo
data="$RAGQ_HOME/data-set"

run() {
    printf '\n$ %s\n' "$*" >&2
    "$@"
}

trap 'run ragq down' EXIT

run ragq up --no-api --no-flower
run ragq demo-data "$data"
run ragq import participants "$data"
run ragq index references --split paper-train
run ragq submit --split paper-test --few-shot-only --limit 3 --wait
