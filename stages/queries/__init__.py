"""The stages of a query job: from a question to an answer with sources."""
