"""Keep what an answer is based on, and add the presets Balanced and Original."""

import json

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# A database without any preset is new; it gets its presets after the migrations.
ADD = """
INSERT INTO rag_config (preset_name, is_default, description, config)
SELECT :name, false, :description, CAST(:config AS jsonb) WHERE EXISTS (SELECT FROM rag_config)
ON CONFLICT (lower(preset_name)) DO NOTHING
"""

# A change, and a choice of the default, sets updated_at.
FOLLOW = """
WITH unchanged AS (
    UPDATE rag_config SET is_default = false
    WHERE preset_name = 'Default' AND is_default AND updated_at = created_at
      AND EXISTS (SELECT FROM rag_config WHERE preset_name = 'Balanced')
    RETURNING id
)
SELECT count(*) FROM unchanged
"""

MAKE_DEFAULT = "UPDATE rag_config SET is_default = true WHERE preset_name = 'Balanced'"

PRESETS = {
    "Balanced": (
        "Works of every length; found by measuring",
        {
            "expansion": {"enabled": True, "n": 3, "max_tokens": 0},
            "retrieval": {
                "dense_limit": 50,
                "lexical_limit": 50,
                "lexical": "bm25",
                "bm25_k1": 0.9,
                "bm25_b": 0.4,
                "fusion": "zscore",
                "dense_weight": 0.5,
                "rrf_k": 50,
                "top_k_rrf": 75,
                "top_n_final": 17,
                "entity_boost": 0.05,
                "min_word_count": 0,
                "min_char_count": 0,
                "keep_if_all_short": True,
                "min_content_length": 750,
                "enrich_lines_above": 0,
                "enrich_lines_below": 13,
                "mmr_lambda": 0.7,
                "reranker_batch_size": 8,
                "reranker_max_length": 512,
            },
            "reranking": {"ranker": "score-fusion", "model": "BAAI/bge-reranker-base", "without_weights": "fail"},
            "validation": {"enabled": False, "model": "", "max_chunks": 17, "allow_empty": False},
            "consolidation": {
                "enabled": True,
                "coverage_threshold": 0.5,
                "line_gap": 7,
                "min_content_length": 0,
                "enrich_from_md": True,
            },
            "augmentation": {"top_n_contexts": 5, "max_answer_tokens": 0},
        },
    ),
    "Original": (
        "The original pipeline to the letter",
        {
            "expansion": {"enabled": True, "n": 3, "max_tokens": 0},
            "retrieval": {
                "dense_limit": 19,
                "lexical_limit": 5,
                "lexical": "websearch",
                "bm25_k1": 0.9,
                "bm25_b": 0.4,
                "fusion": "rrf",
                "dense_weight": 0.5,
                "rrf_k": 50,
                "top_k_rrf": 75,
                "top_n_final": 17,
                "entity_boost": 0.05,
                "min_word_count": 150,
                "min_char_count": 250,
                "keep_if_all_short": False,
                "min_content_length": 750,
                "enrich_lines_above": 0,
                "enrich_lines_below": 13,
                "mmr_lambda": 0.7,
                "reranker_batch_size": 8,
                "reranker_max_length": 512,
            },
            "reranking": {
                "ranker": "cross-encoder",
                "model": "BAAI/bge-reranker-base",
                "without_weights": "score-fusion",
            },
            "validation": {"enabled": False, "model": "", "max_chunks": 17, "allow_empty": False},
            "consolidation": {
                "enabled": True,
                "coverage_threshold": 0.5,
                "line_gap": 7,
                "min_content_length": 350,
                "enrich_from_md": True,
            },
            "augmentation": {"top_n_contexts": 5, "max_answer_tokens": 0},
        },
    ),
}


def upgrade() -> None:
    op.add_column("results", sa.Column("is_cut", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("results", sa.Column("basis", postgresql.JSONB(astext_type=sa.Text()), nullable=True))
    connection = op.get_bind()
    for name, (description, config) in PRESETS.items():
        values = {"name": name, "description": description, "config": json.dumps(config)}
        connection.execute(sa.text(ADD), values)
    if connection.execute(sa.text(FOLLOW)).scalar():
        connection.execute(sa.text(MAKE_DEFAULT))


def downgrade() -> None:
    op.drop_column("results", "basis")
    op.drop_column("results", "is_cut")
