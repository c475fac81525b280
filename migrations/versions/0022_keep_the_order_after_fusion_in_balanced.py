"""Keep more chunks after fusion in the preset Balanced, and their order, unless somebody changed the preset."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

# As revision 0016 and new databases stored it.
OLD = """
{"expansion": {"enabled": true, "n": 3, "max_tokens": 0},
 "retrieval": {"dense_limit": 50, "lexical_limit": 50, "lexical": "bm25", "bm25_k1": 0.9, "bm25_b": 0.4,
               "fusion": "zscore", "dense_weight": 0.5, "rrf_k": 50, "top_k_rrf": 75, "top_n_final": 17,
               "entity_boost": 0.05, "min_word_count": 0, "min_char_count": 0, "keep_if_all_short": true,
               "min_content_length": 750, "enrich_lines_above": 0, "enrich_lines_below": 13, "mmr_lambda": 0.7,
               "reranker_batch_size": 8, "reranker_max_length": 512},
 "reranking": {"ranker": "score-fusion", "model": "BAAI/bge-reranker-base", "without_weights": "fail"},
 "validation": {"enabled": false, "model": "", "max_chunks": 17, "allow_empty": false},
 "consolidation": {"enabled": true, "coverage_threshold": 0.5, "line_gap": 7, "min_content_length": 0,
                   "enrich_from_md": true},
 "augmentation": {"top_n_contexts": 5, "max_answer_tokens": 0}}
"""

AS_FUSED = """
UPDATE rag_config
SET config = jsonb_set(jsonb_set(config, '{retrieval,top_k_rrf}', '200'), '{reranking,ranker}', '"none"')
WHERE preset_name = 'Balanced' AND config = CAST(:old AS jsonb)
"""

# The version before has neither this value nor this ranker.
UNKNOWN = "UPDATE rag_config SET config = config #- '{retrieval,late_weight}'"
WITHOUT_RANKER = """
UPDATE rag_config SET config = jsonb_set(config, '{reranking,ranker}', '"score-fusion"')
WHERE config #>> '{reranking,ranker}' = 'none'
"""


def upgrade() -> None:
    op.execute(sa.text(AS_FUSED).bindparams(old=OLD))


def downgrade() -> None:
    op.execute(UNKNOWN)
    op.execute(WITHOUT_RANKER)
