"""Wrong usage: a mistyped name is refused with the one that was meant, an option with those that it goes with."""

import shlex
from pathlib import Path

from tests.cli.conftest import Ragq


def test_what_is_mistyped_or_does_not_go_together_is_wrong_usage_with_what_was_meant(ragq: Ragq) -> None:
    Path("p.txt").write_text("hat\n")
    for typed, meant in [
        ("sumbit", "Did you mean 'submit'?"),
        ("show r1 --jsno", "Did you mean '--json'?"),
        ("query lsit", "Did you mean 'list'?"),
        ("import wroks", "Did you mean 'works'?"),
        ("runs --kind querry", "Did you mean 'query'?"),
        ("set r1 --priority interactiv", "Did you mean 'interactive'?"),
        ("report r1 --loss ab_nrom", "Did you mean 'abs_norm'?"),
        ("template show query_expansoin", "Did you mean 'query_expansion'?"),
        ("diff r1 r2 --mode zeroshot", "Did you mean 'zero_shot'?"),
        ("show j12", "'j12' is a job; `ragq inspect j12` shows it."),
        ("fork r12 --from scroe", "Did you mean 'score'?"),
        ("corpus remove shelf tea", "'tea' is not the number of a work; `ragq corpus show CORPUS` has the numbers."),
        ("inspect r12", "'r12' is a run; `ragq show r12` lists its jobs."),
        ("fork r1 --from score --grid RAGQ_SCORE_TEXT_CHARS", "is not of the form NAME=VALUE,VALUE"),
        ("purge", "Give --older-than AGE, or --run RUN."),
        ("purge --older-than 90", "'90' is no age; write a number of hours, days or weeks"),
        ("submit --phrases p.txt", "--phrases goes with --vocabulary NAME"),
        ("submit --phrases p.txt --vocabulary v --preset Wide", "--preset does not go with --phrases"),
        ("submit --query Why? --allow-nsfw", "--allow-nsfw does not go with --query"),
        ("submit --query Why? --phrases p.txt", "Name one of --split, --participants, --query"),
        ("submit --phrases 'where is it?'", "`echo 'where is it?' | ragq submit --phrases -`"),
        ("submit --queries 'where is it?'", "`ragq submit --query 'where is it?'`"),
        ("submit", "Name one of --split, --participants, --query"),
        ("submit --split paper-test --participants 303", "Name one of --split, --participants, --query"),
        ("submit --split paper-test --few-shot-only --zero-shot-only", "exclude each other"),
        ("submit --participants 303 --limit 1", "Limit goes with split"),
        ("submit --participants three", "'three' is not a list of participant numbers"),
        ("retry 12", "Usage: "),
        (f"submit --queries '{'word ' * 1000}'", "ragq submit --query"),
    ]:
        done = ragq(*shlex.split(typed))

        assert (done.exit_code, meant in " ".join(done.stderr.split())) == (2, True), done.stderr
