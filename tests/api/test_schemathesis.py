"""Schemathesis sends valid and invalid requests from the description of the API."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.acceptance.conftest import Install, install, ollama
from tests.browser.conftest import populated_template
from tests.browser.site import start_site

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

# Values of a preset and of a run depend on each other, ids of questions differ, judgements are of these questions,
# Markdown has a heading, names of settings have no NUL, a name belongs to one run, only stored passages can be kept,
# and the server signs no messages: RAGQ_WEBHOOK_SECRET is not set.
[[operations]]
include-operation-id = [
    "submit_participants", "submit_phrases", "submit_query_set", "change_preset", "create_preset", "import_files",
    "fork_run", "fork_job", "patch_run", "change_query", "run_augmented_prompt", "run_query", "retrieve_chunks",
    "consolidate_context", "embed_query",
]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]

# Too many questions or phrases are too large a body.
[[operations]]
include-operation-id = ["submit_query_set", "submit_phrases"]
checks.negative_data_rejection.expected-statuses = ["401", "403", "404", "409", "413", "422"]

# It is the default preset.
[[operations]]
include-operation-id = "delete_preset"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404"]

# A pasted reply has a line for each heading, or holds one JSON object.
[[operations]]
include-operation-id = ["paste_document_reply", "save_manual_expansion"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "409"]

# A template has the placeholders of its tag.
[[operations]]
include-operation-id = ["add_version", "change_version"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "422"]

# A run that works is not deleted; the server sets the database, the folders and the backend, and nothing is dropped.
[[operations]]
include-operation-id = ["remove_run", "change_database", "change_paths", "change_models", "init_database"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409"]
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
def populated_api(install: Install, populated_template: str) -> Iterator[str]:
    """The API over a populated database, without a worker."""
    with install(populated_template) as installation:
        yield start_site(installation).url


@pytest.mark.parametrize("phases", ["examples,fuzzing", pytest.param("coverage,stateful", marks=pytest.mark.long)])
def test_the_api_matches_its_description(phases: str, populated_api: str, tmp_path: Path) -> None:
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG)
    (tmp_path / "hooks.py").write_text(HOOKS)
    ran = subprocess.run(
        [
            *(str(Path(sys.executable).with_name("schemathesis")), f"--config-file={config}"),
            *("run", f"{populated_api}/openapi.json", f"--phases={phases}", "--checks=all", "--no-color"),
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
