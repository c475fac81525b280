"""Keep split and transcript variant in the identity of an index, and its split in its name.

Indexes that ragq built have the name of their split from now on, and imported ones no other split's. Of two that can
be searched and then have one name and identity, the newer one stays. Settings and inputs of runs are not touched: jobs
find their index by its number.
"""

import hashlib
import re

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

SPLITS = {"paper-train": "paper_train", "train": "avec_train"}
NAMED = re.compile(r"(?<![a-z0-9])(?:paper|avec)[_-]train(?![a-z0-9])", re.IGNORECASE)

IDENTITY = (
    *("backend", "model", "dimension", "split", "split_ids_hash", "variant"),
    *("chunk_size", "chunk_step", "min_evidence_chars"),
)

INDEXES = sa.text(f"SELECT id, name, run_id, {', '.join(IDENTITY)} FROM reference_index")

NAME = sa.text("UPDATE reference_index SET name = :name, identity = :identity WHERE id = :id")

IS_CURRENT = "published_at IS NOT NULL AND replaced_at IS NULL"

REPLACE_ALL_BUT_THE_NEWEST = """
UPDATE reference_index AS o SET replaced_at = now()
WHERE o.published_at IS NOT NULL AND o.replaced_at IS NULL AND EXISTS (
    SELECT FROM reference_index AS n
    WHERE ({columns}) = ({others}) AND n.published_at IS NOT NULL AND n.replaced_at IS NULL
      AND (n.published_at, n.id) > (o.published_at, o.id))
"""


def upgrade() -> None:
    op.add_column("participant", sa.Column("variant", sa.Text, nullable=False, server_default="unknown"))
    op.add_column("participant", sa.Column("irregular_rows", JSONB, nullable=False, server_default="{}"))
    op.add_column("reference_index", sa.Column("variant", sa.Text, nullable=False, server_default="unknown"))
    op.add_column("reference_index", sa.Column("identity", sa.String, nullable=True))
    op.drop_index("ux_reference_index_current", "reference_index")
    connection = op.get_bind()
    for index in connection.execute(INDEXES).mappings().all():
        identity = "\n".join(f"{column}={index[column]}" for column in IDENTITY)
        connection.execute(
            NAME,
            {
                "id": index["id"],
                "name": _name(index["name"], index["split"], is_built=index["run_id"] is not None),
                "identity": hashlib.sha256(identity.encode()).hexdigest()[:12],
            },
        )
    op.alter_column("reference_index", "identity", nullable=False)
    _make_unique("name", "identity")


def downgrade() -> None:
    op.drop_index("ux_reference_index_current", "reference_index")
    _make_unique("name")
    op.drop_column("reference_index", "identity")
    op.drop_column("reference_index", "variant")
    op.drop_column("participant", "irregular_rows")
    op.drop_column("participant", "variant")


def _name(name: str, split: str, *, is_built: bool) -> str:
    slug = SPLITS.get(split)
    if slug is None:
        return name
    if NAMED.search(name):
        return NAMED.sub(slug, name)
    return f"{name}_{slug}" if is_built else name


def _make_unique(*columns: str) -> None:
    op.execute(
        REPLACE_ALL_BUT_THE_NEWEST.format(
            columns=", ".join(f"o.{column}" for column in columns),
            others=", ".join(f"n.{column}" for column in columns),
        )
    )
    op.create_index(
        "ux_reference_index_current",
        "reference_index",
        list(columns),
        unique=True,
        postgresql_where=sa.text(IS_CURRENT),
    )
