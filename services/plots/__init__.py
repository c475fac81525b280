"""Charts of reports, drawn by matplotlib as SVG."""
