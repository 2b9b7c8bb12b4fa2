"""A user's script may spawn processes without a main guard."""

import subprocess
import sys

_SCRIPT = """
from profiler.spawned import SpawnedContext
print("the script runs", flush=True)
child = SpawnedContext().Process(target=print, args=("a child runs",))
child.start()
child.join()
print("it ended with", child.exitcode)
"""


def test_a_spawned_process_does_not_run_the_script_of_its_parent_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ["the script runs", "a child runs", "it ended with 0"]
