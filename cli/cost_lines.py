"""The cost of a run in the terminal."""

from rich.console import Group

from cli.drawing import Drawing, Text
from schemas.values.costs import RunCost
from stages.reports.costs import cost_words, money_in_words
from stages.reports.numbers_in_words import counted


def cost_lines(cost: RunCost) -> Drawing:
    """The cost in all, by model and by stage, and what was saved."""
    lines = [Text("cost", style="bold"), *(Text(f"  {words}") for words in cost_words(cost))]
    for stage, spent in cost.stages.items():
        if spent.calls_paid:
            money = "" if cost.currency is None else f", {money_in_words(spent.money, cost.currency)}"
            tokens = f"{spent.prompt_tokens:,} + {spent.reply_tokens:,} tokens"
            lines.append(Text(f"  {stage}: {counted(spent.calls_paid, 'call')} paid, {tokens}{money}", style="dim"))
    return Group(*lines)
