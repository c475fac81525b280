"""Reports as tables for a paper: LaTeX, Markdown, and numbers as CSV."""
