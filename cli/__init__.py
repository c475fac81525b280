"""What you type: one file per command group."""
