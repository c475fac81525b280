"""What ragq remembers: values, settings, states, errors and tables. Imports nothing else of ragq."""
