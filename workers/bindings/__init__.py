"""What each stage of each chain reads, asks and stores: one file per stage, in the folder of its chain."""
