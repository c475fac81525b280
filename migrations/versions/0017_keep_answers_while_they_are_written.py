"""Keep answers while they are written.

The pieces are not worth a log: the stored answer is the truth, and an attempt that ends takes its pieces with it,
however it ends.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

DROP_PIECES = """
CREATE FUNCTION drop_answer_pieces() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM answer_piece WHERE attempt_id = NEW.id;
    RETURN NULL;
END $$
"""

TRIGGER = """
CREATE TRIGGER drop_answer_pieces AFTER UPDATE OF outcome ON stage_attempt
FOR EACH ROW WHEN (NEW.stage = 'generate' AND NEW.outcome <> 'running') EXECUTE FUNCTION drop_answer_pieces()
"""


def upgrade() -> None:
    op.create_table(
        "answer_piece",
        sa.Column("attempt_id", sa.BigInteger(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["stage_attempt.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("attempt_id", "ordinal"),
        prefixes=["UNLOGGED"],
    )
    op.execute(DROP_PIECES)
    op.execute(TRIGGER)


def downgrade() -> None:
    op.execute("DROP FUNCTION drop_answer_pieces CASCADE")
    op.drop_table("answer_piece")
