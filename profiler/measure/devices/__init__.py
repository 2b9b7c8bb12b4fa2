"""GPUs that measure: here, several of this host, or those of a cluster's workers."""
