"""What a measurement does now stands in one line, which is gone in the end."""

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.needs("cc")
BRIEF = "profile=False, processes=2, repeats=3"
CALL = f"prof.measure(fast, x, {BRIEF})"


@pytest.mark.slow
def test_a_terminal_shows_what_is_done_now_and_keeps_nothing_of_it(measuring):
    found = measuring.run(f"""
import io, sys
class Terminal(io.StringIO):
    isatty = lambda self: True
before, sys.stderr = sys.stderr, Terminal()
{CALL}
prof.tune(lambda x, n: fast(x), x, over={{"n": [1, 2]}}, name="by_n", {BRIEF})
shown, sys.stderr = sys.stderr.getvalue(), before
print(shown.replace("\\r\\x1b[K", "\\n"), end="|")
""")
    lines = found.stdout.splitlines()[1:]
    assert "fast: times it in process 2 of 2" in lines, found.stderr
    assert "2 of 2: by_n-n-2: calls it until it is compiled and tuned, times and verifies i" in lines, (
        "a line of a window of 80 columns, whose last one is free"
    )
    assert any(line.startswith("again: by_n-n-") for line in lines)
    assert lines[-1] == "|", "an empty line is the last that was shown"
    assert "\n\n" in "\n".join(lines), "and so it is after each call"


def test_nothing_is_shown_where_output_goes_to_a_file(measuring):
    found = measuring.run(f"{CALL}\n")
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.slow
def test_a_cell_of_a_notebook_shows_it_while_it_runs_and_only_the_answer_in_the_end(measuring, monkeypatch):
    for name, value in measuring.environment.items():
        monkeypatch.setenv(name, value)
    (measuring.folder / "elsewhere").mkdir()  # IPython writes to the home folder
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(one) for one in (measuring.functions, f"{CALL}.ns")]
    )
    client = NotebookClient(notebook, timeout=100, resources={"metadata": {"path": str(measuring.folder)}})
    shown = []
    update = client.process_message

    def process(message, *rest):
        if message["msg_type"] in ("display_data", "update_display_data"):
            shown.append(message["content"]["data"]["text/plain"])
        return update(message, *rest)

    monkeypatch.setattr(client, "process_message", process)
    client.execute()
    assert "fast: times it in process 2 of 2" in shown
    assert shown[-1] == ""
    outputs = [one["data"]["text/plain"] for one in notebook.cells[1].outputs]
    assert outputs == ["", "1000.0"]
