"""Documents of other formats, on their way to markdown with headings."""
