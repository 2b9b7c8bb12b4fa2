"""Runs a SELECT over a store and keeps all of its rows, for tests."""

from profiler.store.query import open_query


def run_query(store, sql):
    """Returns distinct column names, and rows of plain Python values."""
    with open_query(store, sql) as answer:
        return answer.names, list(answer.rows())
