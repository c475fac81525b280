"""The stages of a query job: from a query to an answer with sources."""
