"""The hot lines count a statement of several lines once, at the line where most of its samples are."""

from profiler.analyse.recording.hot_lines import by_statement
from profiler.analyse.recording.source_lines import SourceLine


def line(number, text, samples, **stalls):
    return SourceLine("mine.py", number, text, 1.0, samples, stalls)


def test_the_samples_of_a_statement_are_added_up_at_its_hottest_line():
    lines = [
        line(26, "    tl.atomic_add(grad_ptr + row,", 10, wait=10),
        line(27, "                  gs, mask=km)", 90, membar=80, wait=10),
        line(28, "    total += gs", 50, wait=50),
        line(29, "    not_sampled(", 0),
    ]
    call, other = by_statement(lines)
    assert (call.line, call.text, call.samples) == (27, "tl.atomic_add(grad_ptr + row, gs, mask=km)", 100)
    assert list(call.stalls.items()) == [("membar", 80), ("wait", 20)]
    assert (other.line, other.text, other.samples) == (28, "total += gs", 50)


def test_lines_whose_text_is_not_known_stay_as_they_are():
    assert [one.line for one in by_statement([line(1, None, 2), line(2, None, 1)])] == [1, 2]
