"""Sends a function and its arguments to a fresh process, as a file.

A function that a module holds under a name is sent as that name: the other process imports the module, or loads its
file. From a script or a notebook, `MainSource` sends what the function needs of its source. Any other function, such as
a lambda, is sent as its compiled code and the names that it uses.
"""

from __future__ import annotations
import __future__

import ast
import dis
import importlib
import importlib.util
import io
import marshal
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

_main: MainSource | None = None  # in a fresh process: the source of the script or notebook that measures


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, namespace: Mapping[str, Any], main: MainSource | None) -> None:
        super().__init__(file, protocol=5)
        self._namespace, self._source = namespace, main

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, ModuleType):
            return importlib.import_module, (value.__name__,)
        if hasattr(value, "copy_to_host") and not isinstance(value, type):
            return make_numba_array, (value.copy_to_host(),)
        if not callable(value) or isinstance(value, type) or value in (*_LOADERS, importlib.import_module):
            return NotImplemented
        found = _name_of(value, self._namespace, self._source)
        if found is not None:
            return load_name, found
        if not isinstance(value, FunctionType):
            return NotImplemented
        if value.__module__ == MAIN and self._source is None:
            raise pickle.PicklingError(
                "its source lies in no file: write it to a module, a script or a notebook"
            )
        return _reduced(value)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module == MAIN and _main is not None:
            return load_name(MAIN, None, name)
        return super().find_class(module, name)


def pack(value: object, namespace: Mapping[str, Any], main: Path | None) -> bytes:
    """Returns the value for a fresh process.

    `namespace` holds the names of the module that measures, and `main` is the source of the script or notebook.
    """
    file = io.BytesIO()
    _Pickler(file, namespace, MainSource(main) if main is not None else None).dump(value)
    return file.getvalue()


def unpack(data: bytes, main: Path | None) -> Any:
    """Returns the value in this fresh process; `main` is the source of the script or notebook that sent it."""
    global _main  # noqa: PLW0603  # functions that are loaded by name have no other way to it
    _main = MainSource(main) if main is not None else None
    return _Unpickler(io.BytesIO(data)).load()


def load_name(module: str, file: str | None, name: str) -> Any:
    """Returns what a module holds under this name."""
    if module == MAIN:
        assert _main is not None
        return _main.load([name])[name]
    return vars(load_module(module, file))[name]


def load_module(name: str, file: str | None) -> ModuleType:
    """Imports the module, or loads it from its file if the name leads to no module or to another one."""
    try:
        found = importlib.import_module(name)
        if file is None or getattr(found, "__file__", None) in (None, file):
            return found
    except ImportError:
        if file is None:
            raise
    specification = importlib.util.spec_from_file_location(name, file)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module


def make_function(
    module: str, file: str | None, code: bytes, defaults: Any, keywords: Any, cells: tuple[Any, ...]
) -> FunctionType:
    """Returns a function made of its code, with the names of its module."""
    compiled: CodeType = marshal.loads(code)
    if module == MAIN:
        assert _main is not None
        names = _main.load(names_read(compiled))
    else:
        names = vars(load_module(module, file))
    made = FunctionType(compiled, names, compiled.co_name, defaults, tuple(map(CellType, cells)) or None)
    made.__kwdefaults__ = keywords
    made.__module__ = module
    return made


def make_numba_array(values: Any) -> Any:
    """Returns an array of Numba on the GPU, which Numba itself cannot copy to another process."""
    return importlib.import_module("numba.cuda").to_device(values)


_LOADERS = (load_name, make_function, make_numba_array)


def _reduced(function: FunctionType) -> tuple[Any, ...]:
    module = function.__module__
    cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
    code = marshal.dumps(function.__code__)
    return make_function, (
        module, _file_of(module), code, function.__defaults__, function.__kwdefaults__, cells,
    )  # fmt: skip


def _name_of(
    value: Any, namespace: Mapping[str, Any], main: MainSource | None
) -> tuple[str, str | None, str] | None:
    """Returns the module, its file and the name under which a fresh process finds the value."""
    own = getattr(value, "__name__", None)
    for module, names in _modules(value, namespace):
        held = [own] if isinstance(own, str) and names.get(own) is value else []
        held += [name for name, one in list(names.items()) if one is value]
        if module == MAIN:
            held = [name for name in held if main is not None and main.binds(name)]
        if held:
            return module, _file_of(module), held[0]
    return None


def _modules(value: Any, namespace: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the modules that may hold the value: its own, the one that measures, and all that have its name."""
    if isinstance(own := getattr(value, "__module__", None), str) and own in sys.modules:
        yield own, vars(sys.modules[own])
    yield str(namespace.get("__name__", MAIN)), namespace
    name = getattr(value, "__name__", None)
    for module in sorted(sys.modules, key=len):
        held = getattr(sys.modules[module], "__dict__", {})
        if isinstance(name, str) and held.get(name) is value and module != "__mp_main__":
            yield module, held
            return


def _file_of(module: str) -> str | None:
    return getattr(sys.modules.get(module), "__file__", None)


# Reads a script or a notebook, so that a fresh process runs only the statements that a function needs.
#
# So the script's own work is not repeated: a script needs no `if __name__ == "__main__"`, and a notebook's cells that
# train, download or measure do not run again.

MAIN = "__main__"
SENT_MAIN = "__prof_main__"  # the name of the same module in a fresh process


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
        if isinstance(one, ast.If) and ast.unparse(one.test) in (
            "__name__ == '__main__'",
            "'__main__' == __name__",
        ):
            yield from _statements(one.body)
        else:
            yield one


def names_read(code: CodeType) -> set[str]:
    """Returns the names of its module that compiled code reads, also in functions inside of it."""
    own = {
        str(one.argval) for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    return own.union(*(names_read(one) for one in code.co_consts if isinstance(one, CodeType)))


def _compiled(statement: ast.stmt) -> CodeType:
    return compile(ast.Module([statement], type_ignores=[]), "", "exec", dont_inherit=True)


def _bound(statement: ast.stmt) -> set[str]:
    """Returns the names of the module that a statement binds: no locals of functions and comprehensions."""
    instructions = dis.get_instructions(_compiled(statement))
    return {str(one.argval) for one in instructions if one.opname == "STORE_NAME"}
