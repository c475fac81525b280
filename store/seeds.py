"""What a new database gets beside its tables: presets, and the first version of every template."""

import json
from typing import Final

from schemas.settings.preset import ORIGINAL, Preset, preset_of
from stages.queries.templates import RULES, default_template
from store.database import Connection
from store.questions import presets

PRESETS: Final = {
    "Balanced": ("Works of every length; found by measuring", Preset()),
    "Original": ("The original pipeline to the letter", preset_of(ORIGINAL, origin="preset Original")),
}
"""What each is for, and its values. The first becomes the default preset."""

SEEDED_TABLES: Final = ("rag_config", "prompt_templates", "prompt_meta")

FIRST_VERSION = """
INSERT INTO prompt_templates (function_tag, version, title, template_content, is_active)
SELECT $1::text, 1, $2, $3, true WHERE NOT EXISTS (SELECT FROM prompt_templates WHERE function_tag = $1::text)
ON CONFLICT DO NOTHING
"""

VARIABLES = """
INSERT INTO prompt_meta AS m (function_tag, variables) VALUES ($1, $2)
ON CONFLICT (function_tag) DO UPDATE SET variables = excluded.variables, updated_at = now()
WHERE m.variables IS DISTINCT FROM excluded.variables
"""


async def seed(connection: Connection) -> None:
    """Store the presets where there is none at all, and version 1 of each template that has no version.

    What is there is left alone, so that running it again changes nothing; only the descriptions of the placeholders
    follow the code.
    """
    if not await connection.fetchval("SELECT EXISTS (SELECT FROM rag_config)"):
        for name, (description, preset) in PRESETS.items():
            await connection.execute(presets.CREATE, name, description, json.dumps(preset.model_dump()))
    for tag, rules in RULES.items():
        described = [{"variable_name": name, "variable_description": words} for name, words in rules.variables.items()]
        await connection.execute(FIRST_VERSION, tag, rules.title, default_template(tag))
        await connection.execute(VARIABLES, tag, json.dumps(described))
