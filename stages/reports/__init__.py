"""Reports, differences and failures of runs, from stored outputs."""
