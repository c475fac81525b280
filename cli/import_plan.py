"""What an import would do, printed; and the question before works are removed."""

from pathlib import Path
from typing import Any

from cli.estimate import MISSING, estimate_shown
from cli.output import confirm, draw, print_json, print_text
from schemas.errors import Refused
from services.import_estimates import ImportEstimates
from services.import_plans import ImportPlan, is_uploaded
from stages.reports.numbers_in_words import counted
from store.corpora.keeping import ImportOutcome

#: Works that are named before the others are only counted.
_NAMED = 20


def is_gone(source_path: str) -> bool:
    """Whether the file of a work is not there any more; a work without a file on a machine has none to lose.

    That of a work from a line of a corpus is the whole corpus.
    """
    file = Path(source_path)
    return not is_uploaded(source_path) and not file.exists() and not any(one.is_file() for one in file.parents)


def print_plan(plan: ImportPlan, estimates: ImportEstimates, corpus: str, *, as_json: bool) -> None:
    """Print what an import would do, file by file, and its runs.

    Exit code 1 when something is missing for one of them.
    """
    if as_json:
        print_json(_as_json(plan, corpus) | {"embedding": estimates.embedding, "estimate": estimates.documents})
    else:
        print_text("\n".join(_lines(plan, corpus)))
        for one in estimates.found:
            draw(estimate_shown(one))
    if any(one.missing for one in estimates.found):
        raise SystemExit(MISSING)


def confirm_removal(plan: ImportPlan, *, yes: bool, removes: int | None) -> None:
    """Name the works that are to be removed and ask, unless the user agreed before. Raises Refused without consent.

    A folder without a file of any of its works may be one that is not mounted: then only the number agrees.
    """
    count = len(plan.removed)
    if removes is not None and removes != count:
        raise Refused(
            f"--removes {removes} does not fit: {counted(count, 'work')} would be removed; nothing was changed. "
            "--dry-run lists them."
        )
    if not count:
        return
    for line in _removed_lines(plan):
        print_text(line, err=True)
    if removes is not None:
        return
    if plan.emptied:
        raise Refused(
            f"Every work of {', '.join(plan.emptied)} would be removed, so the folder may be empty by mistake, or not "
            f"mounted; nothing was changed. If they are to go, add --removes {count}."
        )
    if not yes:
        confirm(f"Remove {counted(count, 'work')} whose {'file is' if count == 1 else 'files are'} gone?")


def _lines(plan: ImportPlan, corpus: str) -> list[str]:
    parts = _by_word(plan)
    lines = [f"{word}: {path}" for word in ("new", "replaced") for path in parts[word]]
    lines += [f"refused: {file.source_path}: {file.reason}" for file in plan.files if file.outcome is None]
    lines += [f"moved: {one.work.source_path} to {one.source_path}" for one in plan.moved]
    lines += _removed_lines(plan)
    counts = {word: len(paths) for word, paths in parts.items()} | {
        "moved": len(plan.moved),
        "removed": len(plan.removed),
    }
    told = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "nothing to do"
    return [*lines, f"An import into corpus '{corpus}' would have: {told}. Nothing was changed."]


def _by_word(plan: ImportPlan) -> dict[str, list[str]]:
    return {str(outcome): plan.paths(outcome) for outcome in ImportOutcome} | {"refused": plan.paths(None)}


def _removed_lines(plan: ImportPlan) -> list[str]:
    named = [f"removed: {work.source_path} (work {work.id}, {work.title})" for work in plan.removed[:_NAMED]]
    others = len(plan.removed) - len(named)
    return [*named, f"removed: {others} more"] if others else named


def _as_json(plan: ImportPlan, corpus: str) -> dict[str, Any]:
    return {
        "corpus": corpus,
        "dry_run": True,
        **_by_word(plan),
        "moved": [{"work_id": one.work.id, "from": one.work.source_path, "to": one.source_path} for one in plan.moved],
        "removed": [
            {"work_id": work.id, "title": work.title, "source_path": work.source_path} for work in plan.removed
        ],
    }
