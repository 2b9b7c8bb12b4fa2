"""Sends a function and its arguments to a fresh process, as a file.

A function that a module holds under a name is sent as that name: the other process imports the module, or loads its
file. From a script or a notebook, `MainSource` sends what the function needs of its source. Any other function, such as
a lambda, is sent as its compiled code and the names that it uses.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import marshal
import pickle
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from profiler.measuring.functions.main_source import MAIN, MainSource, names_read


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, namespace: Mapping[str, Any], main: MainSource | None) -> None:
        super().__init__(file, protocol=5)
        self._namespace, self._source = namespace, main

    def reducer_override(self, value: Any) -> Any:
        """Returns which loader makes the value in the other process, and of what; NotImplemented where pickle itself can do that."""
        if isinstance(value, ModuleType):
            return importlib.import_module, (value.__name__,)
        if isinstance(value, type) or _is_loader(value):
            return NotImplemented
        if hasattr(value, "copy_to_host"):
            return make_numba_array, (value.copy_to_host(),)
        return self._reduced_callable(value) if callable(value) else NotImplemented

    def _reduced_callable(self, value: Any) -> Any:
        if found := _name_of(value, self._namespace, self._source):
            return load_name, found
        if _ORIGINAL in getattr(value, "__dict__", {}):
            return compile_by_torch, _torch_options(value)
        return self._reduced_function(value) if isinstance(value, FunctionType) else NotImplemented

    def _reduced_function(self, function: FunctionType) -> tuple[Any, ...]:
        module = _module_of_code(function)
        if module == MAIN and self._source is None:
            raise pickle.PicklingError(
                "its source lies in no file: write it to a module, a script or a notebook"
            )
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
        code = marshal.dumps(function.__code__)
        return make_function, (
            module, _file_of(module), code, function.__defaults__, function.__kwdefaults__, cells,
        )  # fmt: skip


class _Unpickler(pickle.Unpickler):
    """Gives the source of the script or notebook to what loads names from it."""

    def __init__(self, file: io.BytesIO, main: MainSource | None) -> None:
        super().__init__(file)
        self._source = main

    def find_class(self, module: str, name: str) -> Any:
        if module == MAIN and self._source is not None:
            return load_name(self._source, MAIN, None, name)
        found = super().find_class(module, name)
        return partial(found, self._source) if found is load_name or found is make_function else found


def pack(value: object, namespace: Mapping[str, Any], main: Path | None) -> bytes:
    """Returns the value for a fresh process.

    `namespace` holds the names of the module that measures, and `main` is the source of the script or notebook.
    """
    file = io.BytesIO()
    _Pickler(file, namespace, MainSource(main) if main is not None else None).dump(value)
    return file.getvalue()


def unpack(data: bytes, main: Path | None) -> Any:
    """Returns the value in this fresh process; `main` is the source of the script or notebook that sent it."""
    return _Unpickler(io.BytesIO(data), MainSource(main) if main is not None else None).load()


def load_name(main: MainSource | None, module: str, file: str | None, name: str) -> Any:
    """Returns what a module holds under this name."""
    if module == MAIN:
        assert main is not None
        return main.load([name])[name]
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
    main: MainSource | None,
    module: str,
    file: str | None,
    code: bytes,
    defaults: Any,
    keywords: Any,
    cells: tuple[Any, ...],
) -> FunctionType:
    """Returns a function made of its code, with the names of its module."""
    compiled: CodeType = marshal.loads(code)
    if module == MAIN:
        assert main is not None
        names = main.load(names_read(compiled))
    else:
        names = vars(load_module(module, file))
    made = FunctionType(compiled, names, compiled.co_name, defaults, tuple(map(CellType, cells)) or None)
    made.__kwdefaults__ = keywords
    made.__module__ = module
    return made


def make_numba_array(values: Any) -> Any:
    """Returns an array of Numba on the GPU, which Numba itself cannot copy to another process."""
    return importlib.import_module("numba.cuda").to_device(values)


def compile_by_torch(function: Any, fullgraph: bool, dynamic: bool | None, options: dict[str, Any]) -> Any:
    """Returns what `torch.compile` makes of the function, or of a module of PyTorch."""
    torch = importlib.import_module("torch")
    return torch.compile(function, fullgraph=fullgraph, dynamic=dynamic, options=options or None)


_LOADERS = (load_name, make_function, make_numba_array, compile_by_torch, importlib.import_module)
_ORIGINAL = "_torchdynamo_orig_callable"  # an attribute of what `torch.compile` returns
_BACKENDS = ("_torchdynamo_orig_backend", _ORIGINAL)  # of what wraps a backend, in new and in old versions


def _is_loader(value: object) -> bool:
    """Returns whether the other process calls the value to load others. An object of the user's may raise an error for `==`."""
    return any(value is loader for loader in _LOADERS)


def _torch_options(compiled: Any) -> tuple[Any, ...]:
    """Returns what `torch.compile` was given, for a fresh process to compile it again.

    What it returned cannot be copied, and keeps its options only in attributes without documentation.
    """
    try:
        if isinstance(compiled, FunctionType):
            names = compiled.__code__.co_freevars
            cells = {
                name: cell.cell_contents for name, cell in zip(names, compiled.__closure__ or (), strict=True)
            }
            context, original = cells["self"], cells["fn"]
        else:
            context, original = compiled.dynamo_ctx, compiled._orig_mod
        backend = context.callback
        while found := [name for name in _BACKENDS if hasattr(backend, name)]:
            backend = getattr(backend, found[0])
        options = context.fullgraph, backend.dynamic, backend.config
    except (AttributeError, KeyError):
        raise pickle.PicklingError(
            "the options of torch.compile are not known: bind what it returns to a name of the module"
        ) from None
    return original, *options


def _module_of_code(function: FunctionType) -> str:
    """Returns the module whose names the code reads: `functools.wraps` gives a function the `__module__` of another."""
    name = str(function.__globals__.get("__name__"))
    found = sys.modules.get(name)
    return name if found and vars(found) is function.__globals__ else function.__module__


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
