"""The stages of a query job: what each reads, asks and stores."""
