"""Read the current attempt of a stage as a view, and call the worker of a manual output `manual`.

The inputs of such an attempt keep `by hand`: they are part of its hash.
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# The status is the stage's: only where it is `done` does the output count.
CURRENT_ATTEMPT = """
CREATE VIEW current_attempt AS
SELECT s.job_id, s.stage, s.status, a.id AS attempt_id, a.number, a.output, a.output_hash, a.error_category, a.ended_at
FROM stage_run AS s
JOIN stage_attempt AS a ON a.job_id = s.job_id AND a.stage = s.stage AND a.number = s.attempts
"""


def upgrade() -> None:
    op.execute(CURRENT_ATTEMPT)
    op.execute("UPDATE stage_attempt SET worker_id = 'manual' WHERE worker_id = 'by hand'")


def downgrade() -> None:
    op.execute("UPDATE stage_attempt SET worker_id = 'by hand' WHERE worker_id = 'manual'")
    op.execute("DROP VIEW current_attempt")
