"""The six Parquet tables of a run: their columns as data, and the way of values into them.

In: Python values.
Out: Arrow tables with declared columns, units and types.
Refuses tables with other columns, other types, or nulls where none may be.
"""
