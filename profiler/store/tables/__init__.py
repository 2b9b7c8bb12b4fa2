"""The six Parquet tables of a run: their declaration, and values on their way in and out."""
