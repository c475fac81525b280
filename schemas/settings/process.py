"""The settings of one process: connections, time constants, logging. They are never frozen into a run."""

import base64
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, model_validator

from schemas.errors import Refused, SettingsError
from schemas.settings.base import Setting, SettingSource, checked, disagreement, given_in, outside_layers, sources_of
from schemas.settings.names import ORIGINAL_NAMES, misspelt_names
from schemas.settings.run import RUN_SETTINGS
from schemas.values.costs import Prices

#: As browsers send it: without a path or a wildcard.
_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:[0-9]+)?|https?://\[[0-9a-f:]+\](:[0-9]+)?")

#: Stages at a time on a server of language models, which may have 16 slots: some are read or stored meanwhile.
_SERVER_STAGES = 20
#: The embedded language model answers one call at a time; the others wait within their time limits.
_EMBEDDED_STAGES = 4


class ServerAddress(NamedTuple):
    """An OpenAI-compatible server."""

    base_url: str
    api_key: str | None


def _address(base_url: str | None, key: SecretStr | None) -> ServerAddress | None:
    if base_url is None:
        return None
    return ServerAddress(base_url, None if key is None else key.get_secret_value())


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


class ProcessSettings(BaseModel):
    """Connections, time constants and logging of one process. Never frozen into a run."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)

    database_url: str | None = Field(default=None, repr=False)
    """Postgres to use; unset, the one that `ragq up` starts."""
    ragq_database_pooler_url: str | None = Field(default=None, repr=False)
    """PgBouncer in transaction mode before the database of DATABASE_URL, for the statements of workers and the API;
    heartbeats, notifications, locks of sessions and commands use DATABASE_URL."""
    redis_url: str | None = Field(default=None, repr=False)
    """Redis, Valkey or RabbitMQ (`amqp://`) to use as broker; unset, the Valkey that `ragq up` starts."""
    ollama_host: str | None = None
    """Host of the Ollama server; unset, no language model is asked unless a run names the embedded one."""
    ollama_port: int = Field(default=11434, ge=1, le=65535)
    """Port of the Ollama server."""
    ragq_openai_base_url: str | None = None
    """Address of an OpenAI-compatible server, for LLM_BACKEND=openai."""
    ragq_openai_api_key: SecretStr | None = Field(default=None, repr=False)
    """Key for that server."""
    ragq_openai_embedding_base_url: str | None = None
    """Address of an OpenAI-compatible server, for EMBEDDING_BACKEND=openai; unset, RAGQ_OPENAI_BASE_URL."""
    ragq_openai_embedding_api_key: SecretStr | None = Field(default=None, repr=False)
    """Key for that server; with neither it nor RAGQ_OPENAI_EMBEDDING_BASE_URL set, RAGQ_OPENAI_API_KEY."""
    ragq_api_open: bool = False
    """Whether `ragq up` makes no token of the API where the machine has other users; until one is made, all of them may
    use the API on loopback."""
    ragq_profile: str | None = None
    """Profile of runs that are submitted without --profile."""
    ragq_home: Path | None = None
    """Folder of the embedded servers and their data; unset, the user's data folder."""
    ragq_lease_seconds: float = Field(default=6.0, ge=1)
    """Seconds for which a claim on a stage is valid without a heartbeat: one a second, and six in this time."""
    ragq_hung_seconds: float = Field(default=300.0, ge=10)
    """Seconds without a heartbeat after which a worker process is killed, so that its supervisor starts another."""
    ragq_reaper_seconds: float = Field(default=1.0, gt=0)
    """Seconds between two checks for expired leases and overdue messages."""
    ragq_republish_seconds: float = Field(default=5.0, gt=0)
    """Seconds after which the message of a due stage is first sent again."""
    ragq_max_interruptions: int = Field(default=3, ge=1)
    """Interrupted attempts of a stage after which its job is poisoned."""
    ragq_stop_seconds: float = Field(default=8.0, ge=0, le=86400)
    """Seconds in which a worker that is stopped may finish its stages; then it gives them back, to be started again."""
    ragq_embedding_dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Number format of the embedder in the worker; auto is bfloat16 on processors with AMX or AVX-512 instructions for
    it and on GPUs that support it, float16 on other GPUs, and else float32."""
    ragq_torch_threads: int = Field(default=0, ge=0)
    """Threads of a model in the worker; 0 uses the number of cores, and one for the embedder on a busy machine."""
    ragq_llm_concurrency: int = Field(default=0, ge=0, le=1024)
    """Calls at a time that all workers together make to one server of language models; 0 sets no limit. The worker that
    `ragq up` starts for them runs a quarter more stages at a time, since some are read or stored meanwhile; without a
    limit 20 with a server, 4 without."""
    ragq_llm_rpm: int = Field(default=0, ge=0, le=1_000_000)
    """Calls that all workers together begin in any 60 seconds on one server of language models; 0 sets no limit."""
    ragq_llm_tpm: int = Field(default=0, ge=0, le=2_000_000_000)
    """Tokens of prompts and replies, by an estimate, of the calls that all workers together begin in any 60 seconds on
    one server of language models. 0 sets no limit."""
    ragq_llm_batch_seconds: float = Field(default=30.0, gt=0, le=3600)
    """Seconds between two looks at a batch of calls; for half of it no further call came when one is sent."""
    ragq_database_pool: int = Field(default=8, ge=1)
    """Maximum database connections of a process."""
    ragq_api_host: str = "127.0.0.1"
    """Address that `ragq api` listens on; other than loopback, it needs an API token."""
    ragq_api_port: int = Field(default=8420, ge=1, le=65535)
    """Port that `ragq api` listens on; `ragq up` chooses a free one unless it is set."""
    ragq_flower_port: int = Field(default=5555, ge=1, le=65535)
    """Port of Flower; `ragq up` chooses a free one unless it is set."""
    ragq_api_max_body_kb: int = Field(default=2048, ge=1)
    """Maximum kilobytes of a request's body."""
    ragq_api_max_upload_kb: int = Field(default=20_480, ge=1)
    """Maximum kilobytes of the files of one upload."""
    ragq_api_body_seconds: float = Field(default=20.0, gt=0)
    """Seconds in which the body of a request must arrive."""
    ragq_api_cors_origins: str = ""
    """Origins such as `https://notes.example.org`, separated by commas, whose pages may call the API."""
    ragq_api_allowed_hosts: str = ""
    """Host names of the API, separated by commas, in addition to `localhost` and addresses."""
    ragq_api_session_hours: float = Field(default=12.0, gt=0)
    """Hours after which a browser must sign in with its token again."""
    ragq_webhook_secret: SecretStr | None = Field(default=None, repr=False)
    """Key that signs the messages of `ragq submit --notify`: base64 of 24 to 64 bytes, after `whsec_` or alone."""
    ragq_webhook_allow_private: bool = False
    """Whether private addresses, and such without encryption, may be notified."""
    ragq_crash_at: str | None = None
    """Point at which a worker kills itself; only for tests."""
    ragq_max_file_mb: int = Field(default=256, ge=1)
    """Maximum megabytes of a file that a command reads."""
    ragq_prices: Path | None = None
    """TOML file of prices per million tokens, from which costs are computed; unset, costs have no money."""
    ragq_document_seconds: float = Field(default=600.0, gt=0)
    """Seconds in which a document is converted to markdown; a longer conversion is ended."""
    ragq_document_memory_mb: int = Field(default=2000, ge=100)
    """Maximum megabytes of memory of a process that converts a document."""
    ragq_document_output_mb: int = Field(default=50, ge=1)
    """Maximum megabytes of text of a document."""
    log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], BeforeValidator(str.upper)] = "INFO"
    """Log lines below this level are dropped."""
    log_format: Literal["json", "console"] = "json"
    """One JSON object per log line, or human-readable lines."""

    @model_validator(mode="after")
    def _a_worker_outlives_its_lease(self) -> Self:
        if self.ragq_hung_seconds <= self.ragq_lease_seconds:
            raise disagreement(
                f"RAGQ_HUNG_SECONDS={self.ragq_hung_seconds:g} is not more than "
                f"RAGQ_LEASE_SECONDS={self.ragq_lease_seconds:g}; raise the first or lower the second",
                "RAGQ_HUNG_SECONDS",
                "RAGQ_LEASE_SECONDS",
            )
        return self

    @model_validator(mode="after")
    def _origins_are_origins(self) -> Self:
        for origin in self.cors_origins:
            if not _ORIGIN.fullmatch(origin):
                raise disagreement(
                    f"RAGQ_API_CORS_ORIGINS names {origin!r}, which is not an origin; write https://name or https://name:port",
                    "RAGQ_API_CORS_ORIGINS",
                )
        return self

    @model_validator(mode="after")
    def _the_key_of_webhooks_is_a_key(self) -> Self:
        try:
            _ = self.webhook_key
        except ValueError:
            raise disagreement(
                "RAGQ_WEBHOOK_SECRET is not base64 of 24 to 64 bytes; `openssl rand -base64 32` prints one",
                "RAGQ_WEBHOOK_SECRET",
            ) from None
        return self

    @property
    def webhook_key(self) -> bytes | None:
        """The key that signs webhooks; None without one."""
        if self.ragq_webhook_secret is None:
            return None
        secret = self.ragq_webhook_secret.get_secret_value().removeprefix("whsec_")
        key = base64.b64decode(secret, validate=True)
        if not 24 <= len(key) <= 64:
            raise ValueError("a key has 24 to 64 bytes")
        return key

    @property
    def openai_server(self) -> ServerAddress | None:
        """The server of language models; None without one."""
        return _address(self.ragq_openai_base_url, self.ragq_openai_api_key)

    @property
    def llm_stages(self) -> int:
        """Stages at a time of the worker for language models that `ragq up` starts."""
        if self.ragq_llm_concurrency:
            return self.ragq_llm_concurrency + max(1, self.ragq_llm_concurrency // 4)
        has_server = self.ollama_host is not None or self.openai_server is not None
        return _SERVER_STAGES if has_server else _EMBEDDED_STAGES

    @property
    def openai_embedding_server(self) -> ServerAddress | None:
        """The server of embeddings. A key is sent to no other server than the one it is set for."""
        url, key = self.ragq_openai_embedding_base_url, self.ragq_openai_embedding_api_key
        if url is None and key is None:
            return self.openai_server
        return _address(url or self.ragq_openai_base_url, key)

    @property
    def cors_origins(self) -> tuple[str, ...]:
        """The origins of RAGQ_API_CORS_ORIGINS."""
        return _listed(self.ragq_api_cors_origins)

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The names of RAGQ_API_ALLOWED_HOSTS, in lower case."""
        return frozenset(_listed(self.ragq_api_allowed_hosts.lower()))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], env_file: Path | None = None) -> "ProcessSettings":
        """The settings of this process: environment over .env file over defaults; an empty text is unset. Raises
        Refused with every problem, unknown RAGQ_* names and misspelt names of other settings of a process among them.
        Without `env_file` no file is read."""
        return effective_process(environment, env_file)[0]


PROCESS_SETTINGS: dict[str, Setting] = {
    field.upper(): Setting(field.upper(), ProcessSettings, (field,)) for field in ProcessSettings.model_fields
}
"""Every setting of a process under its environment name."""

KNOWN_NAMES = frozenset({*RUN_SETTINGS, *PROCESS_SETTINGS, *ORIGINAL_NAMES, "RAGQ_DATA_DIR"})
"""Every name that ragq reads or warns about; RAGQ_DATA_DIR is the folder of public data for the tests."""


def effective_process(
    environment: Mapping[str, str], env_file: Path | None
) -> tuple[ProcessSettings, dict[str, SettingSource]]:
    """As ProcessSettings.from_environment, with the source of each by environment name."""
    layers, problems = outside_layers(environment, env_file)
    problems += misspelt_names(layers, prefixes=("RAGQ_",), known=KNOWN_NAMES, of=PROCESS_SETTINGS)
    given = {name: layer for name, layer in given_in(layers, PROCESS_SETTINGS).items() if layer.variables[name]}
    settings, unusable = checked(ProcessSettings, given, PROCESS_SETTINGS)
    if settings is None or problems:
        raise SettingsError([*problems, *unusable])
    return settings, sources_of(given, PROCESS_SETTINGS)


_LARGEST_PRICES: Final = 1024 * 1024
_PRICE_FILE: Final = 'currency = "EUR"\n[models."gemma3:27b"]\nprompt = 0.10\nreply = 0.20'


def prices_of(settings: ProcessSettings) -> Prices | None:
    """The prices of the TOML file that RAGQ_PRICES names; None where it is unset. Raises Refused for a file that has
    none, with what is wrong."""
    if (file := settings.ragq_prices) is None:
        return None
    try:
        if file.stat().st_size > _LARGEST_PRICES:
            raise Refused(f"{file} is larger than {_LARGEST_PRICES} bytes, which no price file is.")
        return Prices.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"The price file {file} cannot be read ({type(error).__name__}).") from None
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"The price file {file} is not TOML: {error}.") from None
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
        raise Refused(f"The price file {file} cannot be used: {problems}. It looks like this:\n{_PRICE_FILE}") from None
