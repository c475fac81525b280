"""What every reader of files does: rows, and problems with their places."""
