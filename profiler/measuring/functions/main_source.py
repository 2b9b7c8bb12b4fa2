"""Reads a script or a notebook, so that a fresh process runs only the statements that a function needs.

So the script's own work is not repeated: a script needs no `if __name__ == "__main__"`, and a notebook's cells that
train, download or measure do not run again.
"""

from __future__ import annotations
import __future__

import ast
import dis
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

MAIN = "__main__"
SENT_MAIN = "__prof_main__"  # the name of the same module in a fresh process
_IS_MAIN = ("__name__ == '__main__'", "'__main__' == __name__")


class MainSource:
    """The statements of a file; `load` runs those that the given names need, each once and in their order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._statements = list(_statements(ast.parse(path.read_bytes()).body))
        self._flags = 0
        for one in self._statements:
            if isinstance(one, ast.ImportFrom) and one.module == "__future__":
                self._flags |= sum(getattr(__future__, alias.name).compiler_flag for alias in one.names)
        self._done: set[int] = set()
        self._module: ModuleType | None = None

    def binds(self, name: str) -> bool:
        """Returns True if a statement other than a loop binds the name: a loop would run as a whole."""
        plain = (one for one in self._statements if not isinstance(one, (ast.For, ast.While)))
        return any(name in _bound(one) for one in plain)

    def load(self, names: Iterable[str]) -> dict[str, Any]:
        """Returns all names of the module, after the statements that bind these names have run."""
        if self._module is None:
            self._module = ModuleType(SENT_MAIN)
            self._module.__file__ = str(self._path)
            sys.modules[SENT_MAIN] = self._module
        for place in sorted(self._needed(names) - self._done):
            tree = ast.Module([self._statements[place]], type_ignores=[])
            code = compile(tree, str(self._path), "exec", flags=self._flags, dont_inherit=True)
            exec(code, vars(self._module))
            self._done.add(place)
        return vars(self._module)

    def _needed(self, names: Iterable[str]) -> set[int]:
        found: set[int] = set()
        wanted, seen = list(names), set[str]()
        while wanted:
            name = wanted.pop()
            if name in seen:
                continue
            seen.add(name)
            for place, statement in enumerate(self._statements):
                if place not in found and name in _bound(statement):
                    found.add(place)
                    wanted += names_read(_compiled(statement))
        return found


def write_main(folder: Path) -> Path | None:
    """Returns the file of the running script, or writes the cells of the notebook into a file; None if there is neither."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        cells = [cell for cell in shell.history_manager.input_hist_parsed if _parses(cell)]
        path = folder / "cells.py"
        path.write_text("\n\n".join(cells))
        return path
    file = Path(getattr(sys.modules[MAIN], "__file__", None) or ".").absolute()
    return file if file.is_file() else None  # what `python -c` and the plain prompt run lies in no file


def _parses(cell: str) -> bool:
    with suppress(SyntaxError, ValueError):
        ast.parse(cell)
        return True
    return False


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yields the statements of a script, also those behind `if __name__ == "__main__"`."""
    for one in body:
        if isinstance(one, ast.If) and ast.unparse(one.test) in _IS_MAIN:
            yield from _statements(one.body)
        else:
            yield one


def names_read(code: CodeType) -> set[str]:
    """Returns the names of its module that compiled code reads, also in functions inside of it."""
    own = _names_of(code, "LOAD_GLOBAL", "LOAD_NAME")
    return own.union(*(names_read(one) for one in code.co_consts if isinstance(one, CodeType)))


def _names_of(code: CodeType, *operations: str) -> set[str]:
    return {str(one.argval) for one in dis.get_instructions(code) if one.opname in operations}


def _compiled(statement: ast.stmt) -> CodeType:
    return compile(ast.Module([statement], type_ignores=[]), "", "exec", dont_inherit=True)


def _bound(statement: ast.stmt) -> set[str]:
    """Returns the names of the module that a statement binds: no locals of functions and comprehensions."""
    return _names_of(_compiled(statement), "STORE_NAME")
