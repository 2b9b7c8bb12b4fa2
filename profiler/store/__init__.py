"""Reports in, Parquet out: reading `.ncu-rep` files and keeping runs."""
