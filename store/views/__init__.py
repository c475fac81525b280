"""What is read across areas at one moment: the state of a run, its report, and the lineage of a job."""
