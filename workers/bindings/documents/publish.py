"""Stage `publish`: the chunks of the work can be found."""

from workers.bindings.corpora.publish import run

__all__ = ["run"]
