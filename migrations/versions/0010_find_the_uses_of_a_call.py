"""Find the uses of a language model call by the call, as the deletion of a question does."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_llm_call_use_call_id", "llm_call_use", ["call_id"])


def downgrade() -> None:
    op.drop_index("ix_llm_call_use_call_id", "llm_call_use")
