"""Which parts of a stack are healthy: each is asked as its clients would ask it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from stack.probes import http_answers, postgres_answers, redis_answers

WORKER = "worker-"


class Ping(Protocol):
    """Pings workers over the broker. The caller provides it, because `stack` does not import `workers`."""

    def __call__(self, redis_url: str, names: Collection[str]) -> set[str]:
        """The workers of this machine, out of `names`, that answer within about a second; none without a broker."""
        ...


@dataclass(frozen=True, kw_only=True)
class Health:
    """The health of the parts that use some servers."""

    #: URLs under DATABASE_URL, REDIS_URL and OLLAMA_HOST.
    servers: dict[str, str]
    flower_url: str | None
    api_url: str | None = None
    ping: Ping

    def healthy(self, parts: Collection[str]) -> set[str]:
        """Those of the parts that answer now. All workers are asked at once."""
        workers = {part.removeprefix(WORKER) for part in parts if part.startswith(WORKER)}
        answering = self.ping(self.servers["REDIS_URL"], workers) if workers else set()
        others = {part for part in parts if not part.startswith(WORKER) and self._answers(part)}
        return others | {f"{WORKER}{name}" for name in answering & workers}

    def _answers(self, part: str) -> bool:
        match part:
            case "postgres":
                return postgres_answers(self.servers["DATABASE_URL"])
            case "valkey":
                return redis_answers(self.servers["REDIS_URL"])
            case "llm":
                return http_answers(f"{self.servers['OLLAMA_HOST']}/api/version")
            case "api":
                return http_answers(f"{self.api_url}/healthz")
            case "flower":
                return http_answers(f"{self.flower_url}/healthcheck")
            case _:
                raise ValueError(f"There is no way to ask {part} for its health.")
