"""`--brief` gives the headline of an answer with what to doubt in it, whatever kind of answer it is."""

import importlib
import pkgutil

import pytest
from msgspec import Struct

import profiler.analyse
from profiler.present.short_answer import shorten_to_answer


def kinds_of_answers():
    """The findings that open with a headline; those without a version are parts of others."""
    for module in pkgutil.walk_packages(profiler.analyse.__path__, "profiler.analyse."):
        for one in vars(importlib.import_module(module.name)).values():
            is_struct = isinstance(one, type) and issubclass(one, Struct) and one.__module__ == module.name
            if is_struct and {"headline", "schema_version"} <= set(one.__struct_fields__):
                yield one


def test_every_kind_of_answer_says_what_to_doubt_in_it():
    found = {one.__name__ for one in kinds_of_answers()}
    assert {"ComparisonFinding", "Sheets", "Triage"} <= found
    said_by_nobody = shorten_to_answer.dispatch(object)
    assert [
        one.__name__ for one in kinds_of_answers() if shorten_to_answer.dispatch(one) is said_by_nobody
    ] == []


def test_a_new_kind_of_answer_that_says_nothing_of_its_doubts_fails_instead_of_hiding_them():
    class New(Struct):
        headline: str = "It is faster."

    with pytest.raises(TypeError, match="what to doubt in a New"):
        shorten_to_answer(New())


def test_a_list_has_no_answer_to_shorten():
    assert shorten_to_answer([1, 2]) is None
