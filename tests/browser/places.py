"""The addresses of a populated site."""

from typing import Final

from tests.browser.site import Site

#: Every page, in every state that the site has, by a name for the test's id and the picture's file.
PAGES: Final = {
    "questions": "/rag",
    "new-question": "/rag/new?q=Why+is+green+tea+green%3F",
    "question": "/rag/{answered}",
    "question-embedded": "/rag/{embedded}",
    "question-failed": "/rag/{failed}",
    "inspect": "/rag/{answered}/inspect",
    "answers": "/rag/{answered}/results",
    "answer": "/rag/{answered}/results/{answer}",
    "participants": "/ui/participants",
    "runs": "/ui/runs",
    "run": "/ui/runs/{scored_run}",
    "runs-search": "/ui/runs?kind=query&search=succeeded",
    "scores": "/ui/runs/{scored_run}/scores",
    "compare": "/ui/runs/compare?runs={scored_run},{scored_run}&mode=zero_shot&other_mode=few_shot",
    "evaluation": "/ui/runs/{evaluated_run}/evaluation",
    "job-evaluation": "/ui/jobs/{evaluated_job}",
    "compare-questions": "/ui/runs/compare?runs={failed_run},{answered_run}",
    "run-failed": "/ui/runs/{failed_run}",
    "job-question": "/ui/jobs/{answered_job}",
    "job-participant": "/ui/jobs/{scored_job}",
    "job-phrases": "/ui/jobs/{tagged_job}",
    "job-index": "/ui/jobs/{indexed_job}",
    "job-failed": "/ui/jobs/{failed_job}",
    "tags": "/ui/tags",
    "candidates": "/ui/tags/runs/{tagged_run}",
    "vocabularies": "/ui/vocabularies",
    "vocabulary": "/ui/vocabularies/wardrobe",
    "corpora": "/ui/corpora",
    "corpus": "/ui/corpora/{corpus}",
    "work": "/ui/works/{work}",
    "work-section": "/ui/works/{work}?heading={section}",
    "work-text": "/ui/works/{work}?show=text",
    "new-corpus": "/ui/works/new",
    "import-works": "/ui/works/new?corpus=default",
    "document": "/ui/documents/{document}",
    "document-text": "/ui/documents/{document}?show=text",
    "document-sections": "/ui/documents/{document}?show=sections",
    "run-documents": "/ui/runs/{document_run}",
    "job-document": "/ui/jobs/{document}",
    "presets": "/ui/presets",
    "preset": "/ui/presets/{preset}",
    "templates": "/ui/templates",
    "template": "/ui/templates/rag_augmentation",
    "new-template-version": "/ui/templates/rag_augmentation?of=2",
    "workers": "/ui/workers",
    "missing": "/rag/99999",
}

IDS: Final = """
WITH of_query AS (
    SELECT q.id, q.job_id, j.run_id, j.status,
           (SELECT max(r.id) FROM results AS r WHERE r.query_id = q.id AND r.origin = 'model') AS answer
    FROM queries AS q JOIN job AS j ON j.id = q.job_id
)
SELECT (SELECT id FROM of_query WHERE answer IS NOT NULL) AS answered,
       (SELECT job_id FROM of_query WHERE answer IS NOT NULL) AS answered_job,
       (SELECT run_id FROM of_query WHERE answer IS NOT NULL) AS answered_run,
       (SELECT answer FROM of_query WHERE answer IS NOT NULL) AS answer,
       (SELECT min(id) FROM of_query WHERE status = 'failed') AS failed,
       (SELECT min(job_id) FROM of_query WHERE status = 'failed') AS failed_job,
       (SELECT min(run_id) FROM of_query WHERE status = 'failed') AS failed_run,
       (SELECT min(id) FROM of_query) AS embedded,
       (SELECT max(id) FROM run WHERE kind = 'participant') AS scored_run,
       (SELECT min(id) FROM job WHERE mode = 'few_shot') AS scored_job,
       (SELECT max(id) FROM run WHERE kind = 'evaluation') AS evaluated_run,
       (SELECT max(id) FROM job WHERE kind = 'evaluation') AS evaluated_job,
       (SELECT max(id) FROM job WHERE kind = 'tags') AS tagged_job,
       (SELECT max(run_id) FROM job WHERE kind = 'tags') AS tagged_run,
       (SELECT min(id) FROM job WHERE mode = 'references') AS indexed_job,
       (SELECT min(corpus_id) FROM queries) AS corpus,
       (SELECT min(work_id) FROM chunks WHERE level = 'H2') AS work,
       (SELECT min(id) FROM chunks WHERE level = 'H2') AS section,
       (SELECT max(id) FROM job WHERE kind = 'work') AS document,
       (SELECT max(run_id) FROM job WHERE kind = 'work') AS document_run,
       (SELECT max(id) FROM rag_config) AS preset
"""


async def addresses(site: Site) -> dict[str, str]:
    """The address of every page of a populated site, by the names of `PAGES`."""
    (ids,) = await site.rows(IDS)
    return {name: pattern.format(**ids) for name, pattern in PAGES.items()}
