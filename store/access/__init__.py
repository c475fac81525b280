"""Who may use the API: tokens, sessions, and the keys of repeated requests."""
