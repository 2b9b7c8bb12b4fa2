"""Fixtures that look into the blocks of a document, and into the spec of a chart."""

import pytest


@pytest.fixture(scope="session")
def parts_of():
    """Yields a chart's spec and every spec that it is composed of."""
    return _parts_of


@pytest.fixture(scope="session")
def rows_of():
    """All data of a chart, each record once."""
    return _rows_of


def _parts_of(spec):
    yield spec
    for kind in ("layer", "concat", "hconcat", "vconcat"):
        for part in spec.get(kind, ()):
            yield from _parts_of(part)


def _rows_of(chart):
    spec = chart.to_dict()
    inline = [part["data"]["values"] for part in _parts_of(spec) if "values" in part.get("data", {})]
    return [row for rows in (*inline, *spec.get("datasets", {}).values()) for row in rows]
