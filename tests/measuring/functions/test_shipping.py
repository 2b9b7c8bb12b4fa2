"""What a fresh process gets of a function."""

import pytest

from profiler.measuring.functions.shipping import pack, unpack


class Expression:
    """Compares as the symbols of some libraries do, which have no truth value."""

    __hash__ = None

    def __call__(self, value):
        return value + 1

    def __eq__(self, other):
        raise ValueError("has no truth value")


def test_a_callable_that_cannot_be_compared_is_sent():
    with pytest.raises(ValueError, match="truth value"):
        bool(Expression() == 1)
    assert unpack(pack(Expression(), {}, None), None)(1) == 2
