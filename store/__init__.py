"""Where it is kept: Postgres, asked in words of the domain. One file per area."""
