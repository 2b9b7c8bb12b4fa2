"""Pure functions: tables in, findings out."""
