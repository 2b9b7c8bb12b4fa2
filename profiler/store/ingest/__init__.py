"""Many reports into runs: read in parallel, here or on a cluster's workers, and committed one by one."""
