#!/bin/sh
# Runs the main job on packaged servers and models and prints its scores. Called by `make demo`.
set -eu

# The demo starts its servers; those that the environment names are not used.
unset DATABASE_URL REDIS_URL OLLAMA_HOST OLLAMA_PORT RAGQ_OPENAI_BASE_URL
export RAGQ_PROFILE=demo
data="$RAGQ_HOME/data-set"
page="$RAGQ_HOME/report.html"

run() {
    printf '\n$ %s\n' "$*" >&2
    "$@"
}

trap 'run ragq down' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

run ragq up --no-api --no-flower
run ragq demo-data "$data"
run ragq import participants "$data"
run ragq index references --split paper-train
submitted=$(run ragq submit --split paper-test --limit 3 --json)
id=$(printf '%s' "$submitted" | sed -n 's/^ *"run": "\(r[0-9]*\)".*/\1/p')
run ragq watch "$id"
run ragq report "$id" --html "$page"
run ragq down
trap - EXIT

cat <<END

The report with plots is $page
The scores above and all steps behind them are pages too. Type:

  export PATH="$(dirname "$(command -v ragq)"):\$PATH" RAGQ_HOME="$RAGQ_HOME"
  ragq up                    # starts the servers again and prints the address: open its /runs/${id#r}
  ragq show $id              # the scores again
  ragq down                  # stops the servers
END
