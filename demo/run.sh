#!/bin/sh
# Scores the interviews of a split and answers a question on packaged servers and models. Called by `make demo`.
set -eu

# The demo starts its servers; those that the environment names are not used.
unset DATABASE_URL REDIS_URL OLLAMA_HOST OLLAMA_PORT RAGQ_OPENAI_BASE_URL RAGQ_PROFILE
page="$RAGQ_HOME/report.html"

run() {
    printf '\n$ %s\n' "$*" >&2
    "$@"
}

trap 'run ragq down' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

run ragq up --no-api --no-flower
run ragq demo-data "$RAGQ_HOME/interviews"
run ragq import participants "$RAGQ_HOME/interviews"
run ragq index references --split paper-train --wait
submitted=$(run ragq submit --split paper-test --json)
id=$(printf '%s' "$submitted" | sed -n 's/^ *"run": "\(r[0-9]*\)".*/\1/p')
run ragq watch "$id"
run ragq report "$id" --html "$page"
run ragq demo-data --works "$RAGQ_HOME/works"
run ragq import works "$RAGQ_HOME/works" --corpus shelf --wait
run ragq ask "Why does black tea turn dark?"
run ragq down
trap - EXIT

cat <<END

No language model was asked: scores are those of the nearest evidence, answers are sentences of their sources.
The report with plots is $page
The scores above and all steps behind them are pages too. Type:

  export PATH="$(dirname "$(command -v ragq)"):\$PATH" RAGQ_HOME="$RAGQ_HOME"
  ragq up                    # starts the servers again and prints the address: open its /ui/runs/${id#r}
  ragq show $id              # the scores again
  ragq down                  # stops the servers

With a language model of your own, set OLLAMA_HOST or RAGQ_OPENAI_BASE_URL; \`ragq doctor\` says what will be used.
END
