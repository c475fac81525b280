"""A file of queries and a file of judgements, combined into a set that can be submitted."""

from schemas.values.interviews import FileProblem
from schemas.values.query_sets import QuerySet
from stages.files.problems import Parsed, ProblemsFound
from stages.queries.qrels_file import parse_qrels
from stages.queries.query_file import parse_queries


def read_query_set(queries: bytes, qrels: bytes | None = None, *, queries_file: str, qrels_file: str = "") -> QuerySet:
    """Read both files. Raises ProblemsFound with the problems of both.

    Queries without a judgement are kept. Judgements of other queries are counted and dropped; if all of them are, the
    files do not belong together, which is a problem.
    """
    found, query_problems = parse_queries(queries, file=queries_file)
    judgements, qrels_problems = Parsed(()) if qrels is None else parse_qrels(qrels, file=qrels_file)
    problems = [*query_problems, *qrels_problems]
    ids = {query.external_id for query in found.queries}
    judged = tuple(judgement for judgement in judgements if judgement.query_id in ids)
    if judgements and not judged and not problems:
        strange = f"judges none of the {len(ids)} queries of {queries_file}"
        problems.append(
            FileProblem(file=qrels_file, line=None, found=strange, what_to_do="give the judgements of these queries")
        )
    if problems:
        raise ProblemsFound(problems, of="query set", consequence="nothing was submitted")
    return QuerySet(
        queries=found.queries,
        judgements=judged,
        left_out_keys=found.left_out_keys,
        left_out_judgements=len(judgements) - len(judged),
    )
