"""Programs as a test starts them by hand: on a terminal, or in the place of a tool."""

import os
import pty
import select
import subprocess
import time


class Terminal:
    """A program on a terminal of its own: what it has written so far, and keys to press."""

    def __init__(self, command, width=100, output=None, **environment):
        """`output` takes the standard output elsewhere."""
        self._ours, theirs = pty.openpty()
        os.set_inheritable(theirs, True)
        subprocess.run(["stty", "cols", str(width)], stdin=theirs, check=True)
        env = {**os.environ, "TERM": "xterm-256color", **environment}
        self.child = subprocess.Popen(
            list(map(str, command)), stdin=theirs, stdout=output or theirs, stderr=theirs, start_new_session=True,
            env={name: value for name, value in env.items() if value is not None},
        )  # fmt: skip
        os.close(theirs)
        self._bytes = b""

    @property
    def written(self):
        return self._bytes.decode(errors="ignore").replace("\r\n", "\n")

    def read_until(self, words, seconds=60):
        deadline = time.monotonic() + seconds
        while words not in self.written and time.monotonic() < deadline:
            if not select.select([self._ours], [], [], 0.1)[0]:
                continue
            try:
                chunk = os.read(self._ours, 65536)
            except OSError:  # its last process has closed it
                break
            self._bytes += chunk
        return self.written

    def press(self, keys):
        os.write(self._ours, keys)

    def end(self):
        """Returns the exit code, once the program has ended by itself."""
        try:
            self.read_until("\0")
            return self.child.wait(timeout=60)
        finally:
            self.child.kill()
            self.child.wait()
            os.close(self._ours)


def on_a_terminal(command, **options):
    """Returns what a program that ends well has written to its terminal."""
    terminal = Terminal(command, **options)
    assert terminal.end() == 0
    return terminal.written


def write_tool(path, text):
    """Writes a program of the shell, unless its first line names another."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
