"""Programs as a test starts them by hand: on a terminal, or in the place of a tool."""

import os
import pty
import select
import subprocess
import termios
import threading
import time
from contextlib import contextmanager


class Terminal:
    """A program on a terminal of its own, and what it has written so far."""

    def __init__(self, command, width=100, output=None, **environment):
        """`output` takes the standard output elsewhere."""
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (0, width))
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

    def end(self):
        """Returns the exit code, once the program has ended by itself."""
        try:
            self.read_until("\0")
            return self.child.wait(timeout=60)
        finally:
            self.child.kill()
            self.child.wait()
            os.close(self._ours)


@contextmanager
def attached(width):
    """This process has a terminal of its own for its standard streams. Yields a function for what was written to it, for afterwards."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (0, width))
    pieces = []
    reading = threading.Thread(target=lambda: pieces.extend(_until_the_end(ours)))
    before = [os.dup(number) for number in range(3)]
    for number in range(3):
        os.dup2(theirs, number)
    reading.start()
    try:
        yield lambda: b"".join(pieces).decode(errors="ignore").replace("\r\n", "\n").removesuffix("\0")
    finally:
        for number, stream in enumerate(before):
            os.dup2(stream, number)
            os.close(stream)
        os.write(theirs, b"\0")  # what this process has started meanwhile may keep the terminal open
        reading.join()
        os.close(theirs)
        os.close(ours)


def _until_the_end(ours):
    piece = b""
    while not piece.endswith(b"\0"):
        piece = os.read(ours, 65536)
        yield piece


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
