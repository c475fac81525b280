"""The results of tags jobs."""

from dataclasses import dataclass
from typing import Any

from schemas.statuses import JobStatus
from schemas.values.tags import PhraseReport, ValidatedTags
from stages.tags.candidates import shaped
from stages.tags.ranking import in_words
from store.database import Connection

RESULTS = """
SELECT j.id, j.subject, j.status, v.output AS validated, r.output -> 'phrase_reports' AS reports
FROM job AS j
LEFT JOIN current_attempt AS v ON v.job_id = j.id AND v.stage = 'validate' AND v.status = 'done'
LEFT JOIN current_attempt AS r ON r.job_id = j.id AND r.stage = 'rerank' AND r.status = 'done'
WHERE j.kind = 'tags' AND (j.run_id = $1 OR j.id = $2)
ORDER BY j.ordinal
"""


@dataclass(frozen=True, kw_only=True)
class TagsResult:
    """The result of one phrase set."""

    job_id: int
    subject: str
    status: JobStatus
    validated: ValidatedTags | None
    """None until the job has succeeded."""
    phrase_reports: tuple[PhraseReport, ...]

    @property
    def note(self) -> str | None:
        """Why phrases that led to tags have none; None where the filters left each phrase one."""
        if self.validated is None or self.validated.emptied is None:
            return None
        return in_words(self.validated.emptied)

    def shaped(self, *, verbose: bool, phrase_ranks: bool) -> list[Any] | None:
        """The candidates; or an array of them, the reports by phrase and the ranks, as far as asked for.

        None where the job has no result.
        """
        if self.validated is None:
            return None
        return list(
            shaped(
                self.validated.candidates,
                self.phrase_reports,
                self.validated.phrase_rank_by_tag,
                verbose=verbose,
                return_phrase_ranks=phrase_ranks,
            )
        )


async def results(connection: Connection, *, run_id: int | None = None, job_id: int | None = None) -> list[TagsResult]:
    """The tags jobs of a run in the order of submission, or one job. None for runs and jobs of other kinds."""
    return [
        TagsResult(
            job_id=row["id"],
            subject=row["subject"],
            status=JobStatus(row["status"]),
            validated=None if row["validated"] is None else ValidatedTags.model_validate(row["validated"]),
            phrase_reports=tuple(PhraseReport.model_validate(report) for report in row["reports"] or ()),
        )
        for row in await connection.fetch(RESULTS, run_id, job_id)
    ]
