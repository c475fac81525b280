"""Schemathesis sends valid and invalid requests from the description of the API."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.conftest import Install, install, ollama
from tests.api.live_server import LiveServer, live_server
from tests.browser.conftest import populated_template

__all__ = ["install", "ollama", "populated_template"]

SEED: Final = 1
#: Generated requests per operation, in addition to its examples and boundary values.
MOST_EXAMPLES: Final = 1

#: Most requests name existing things: names and numbers of rows in the populated database.
CONFIG: Final = """
# One is enough to see what the events of a stream are.
max-stream-events = 1

[dictionaries.numbers]
values = [1, 2, 3, 4, 5, 6, 7, 8]

[dictionaries.presets]
values = ["Balanced", "Original", "balanced"]

[dictionaries.stages]
values = ["expand", "embed", "retrieve", "rerank"]

[parameters]
"path.query_id" = { dictionary = "numbers", probability = 0.8 }
"path.result_id" = { dictionary = "numbers", probability = 0.8 }
"path.run_id" = { dictionary = "numbers", probability = 0.8 }
"path.job_id" = { dictionary = "numbers", probability = 0.8 }
"path.number" = { dictionary = "numbers", probability = 0.8 }
"path.version" = { dictionary = "numbers", probability = 0.8 }
"path.name" = { dictionary = "presets", probability = 0.8 }
"path.stage" = { dictionary = "stages", probability = 0.8 }
"query.config_preset" = { dictionary = "presets", probability = 0.8 }

# Constraints that no schema expresses, and the replies to their violation.

# No worker is there.
[[operations]]
include-path = "/readyz"
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", "503"]

# The server signs no messages: RAGQ_WEBHOOK_SECRET is not set. Questions follow below.
[[operations]]
include-operation-id = ["submit_participants", "submit_phrases"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]

# It is the default preset.
[[operations]]
include-operation-id = "delete_preset"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404"]

# Values of a preset depend on each other.
[[operations]]
include-operation-id = ["change_preset", "create_preset"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]

# Ten tokens a minute may be tried.
[[operations]]
include-operation-id = "create_session"
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "429"]

# Ids of questions differ, and judgements are of these questions; values of a preset have ranges.
[[operations]]
include-operation-id = ["submit_query_set"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]
# Too many questions are too large a body.
checks.negative_data_rejection.expected-statuses = ["401", "403", "404", "409", "413", "422"]

# Markdown has a heading.
[[operations]]
include-operation-id = ["import_files"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]

# Too many phrases are too large a body.
[[operations]]
include-operation-id = ["submit_phrases"]
checks.negative_data_rejection.expected-statuses = ["401", "403", "404", "409", "413", "422"]

# Names of settings have no NUL, which no schema of a key expresses.
[[operations]]
include-operation-id = ["fork_run", "fork_job"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]

# A pasted reply has a line for each heading.
[[operations]]
include-operation-id = ["paste_document_reply"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "409"]

# A template has the placeholders of its tag.
[[operations]]
include-operation-id = ["add_version", "change_version"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "422"]

# The server sets the database, the folders and the backend, and nothing is dropped.
[[operations]]
include-operation-id = ["change_database", "change_paths", "change_models", "init_database"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "409"]

# A pasted reply is a text that holds one JSON object.
[[operations]]
include-operation-id = "save_manual_expansion"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "409"]

# A value in the query differs from that in the body, or a value of a preset is out of range.
[[operations]]
include-operation-id = ["run_augmented_prompt", "run_query", "retrieve_chunks", "consolidate_context", "embed_query"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]

# A name belongs to one run, and is no number of a run.
[[operations]]
include-operation-id = "patch_run"
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]

# A run that works is not deleted.
[[operations]]
include-operation-id = "remove_run"
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409"]

# Only stored passages can be kept.
[[operations]]
include-operation-id = "change_query"
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]
"""

#: A key belongs to one request: with the same key in each, all but the first would be refused. No worker does the
#: steps, so no request waits for one.
HOOKS: Final = """
import re
from uuid import uuid4

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    case.headers = {**(case.headers or {}), "Prefer": "respond-async"}
    for name in case.headers:
        if name.lower() == "idempotency-key" and re.fullmatch("[!-~]{1,255}", str(case.headers[name])):
            case.headers[name] = uuid4().hex
"""


@pytest.fixture
def populated_api(install: Install, populated_template: str) -> Iterator[LiveServer]:
    """The API over a populated database, without a worker and with short waits."""
    with install(populated_template) as installation, live_server(installation, wait_s=0.05) as ctx:
        yield ctx


@pytest.mark.parametrize("phases", ["examples,fuzzing", pytest.param("coverage,stateful", marks=pytest.mark.long)])
def test_the_api_matches_its_description(phases: str, populated_api: LiveServer, tmp_path: Path) -> None:
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG)
    (tmp_path / "hooks.py").write_text(HOOKS)
    ran = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("schemathesis")), f"--config-file={config}"),
            *("run", f"{populated_api.url}/openapi.json", f"--phases={phases}", "--checks=all", "--no-color"),
            *(f"--seed={SEED}", f"--max-examples={MOST_EXAMPLES}", "--generation-database=none"),
            *("--request-timeout=30", "--continue-on-failure", "--suppress-health-check=all"),
        ],
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": "hooks"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
