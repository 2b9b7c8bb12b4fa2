"""The hottest lines: where the first cause names another one, the answer says why."""

import pytest

from profiler.analyse.recording.hot_lines import HotLine
from profiler.present.document import Document, Table, Text
from profiler.present.documents.recording import hot_line_blocks
from profiler.present.render.terminal import Window, document_text
from tests.made_causes import cause_of

HOT = [HotLine("kernel.cu", 15, 60.0, {"long_scoreboard": 90.0}, "x = a[i];")]


@pytest.mark.parametrize(
    ("name", "line", "explained"), [("barriers", 16, True), ("barriers", 15, False), ("grid-too-small", 16, False)]
)  # fmt: skip
def test_a_first_cause_at_another_line_than_the_hottest_is_explained(name, line, explained):
    first = cause_of(name, line=line)
    texts = [block.text for block in hot_line_blocks(HOT, [first]) if isinstance(block, Text)]
    assert any(f"{name} names kernel.cu:16" in text for text in texts) is explained


@pytest.mark.parametrize(
    ("text", "stalls", "explained"),
    [
        ("}", {"math_pipe_throttle": 33.0, "drain": 2.0}, True),
        ("}", {"drain": 97.0, "branch_resolving": 2.0}, True),  # stores at the kernel's end
        ("x = a[i] / n;", {"math_pipe_throttle": 33.0}, False),
    ],
)
def test_a_closing_brace_is_explained(text, stalls, explained):
    blocks = hot_line_blocks([HotLine("kernel.cu", 81, 65.0, stalls, text)], [])
    texts = [block.text for block in blocks if isinstance(block, Text)]
    assert any("closing brace" in one for one in texts) is explained


@pytest.mark.parametrize(
    ("text", "of_called", "explained"),
    [("y[i] = z", True, True), ("y[i] = z", False, False), ("}", True, False)],
)
def test_a_last_line_for_called_functions_is_explained_unless_a_brace_is(text, of_called, explained):
    blocks = hot_line_blocks([HotLine("kernel.py", 43, 54.0, {"wait": 32.0}, text, of_called=of_called)], [])
    texts = [block.text for block in blocks if isinstance(block, Text)]
    assert any("At kernel.py:43, where the code of the kernel ends" in one for one in texts) is explained


@pytest.mark.parametrize(
    ("stalls", "ready_pct", "said"),
    [
        ({"math_pipe_throttle": 20.0, "wait": 12.0}, 56.0, "not waiting 56 %, math_pipe_throttle 20 %"),
        ({"math_pipe_throttle": 57.0, "wait": 12.0}, 30.0, "math_pipe_throttle 57 %, not waiting 30 %"),
        ({"long_scoreboard": 80.0, "wait": 11.0}, 9.0, "long_scoreboard 80 %, wait 11 %"),  # seldom enough
    ],
)
def test_what_warps_do_at_a_line_most_often_stands_first(stalls, ready_pct, said):
    table, *_ = (
        block
        for block in hot_line_blocks([HotLine("kernel.cu", 15, 60.0, stalls, "x = a[i];", ready_pct)], [])
        if isinstance(block, Table)
    )
    assert table.rows[0].values[2] == said


def test_the_reasons_take_more_lines_in_a_narrow_window_rather_than_none():
    stalls = {"long_scoreboard": 67.0, "wait": 12.0}
    lines = hot_line_blocks([HotLine("triton_mm.py", 14, 19.0, stalls, "for k in range(0, n):", 20.0)], [])
    text = document_text(Document("", [lines]), Window(width=40))
    assert "reasons" in text
    assert {"67", "20"} <= set(text.split())
    assert max(map(len, text.splitlines())) <= 40
