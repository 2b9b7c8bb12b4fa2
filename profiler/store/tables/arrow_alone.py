"""Keeps pyarrow from importing NumPy, cloudpickle and pandas, which prof does not need."""

from __future__ import annotations

import sys
from typing import Any

# The names that each part of pyarrow has when it has been imported.
_LAST = {"pyarrow": "Table", "pyarrow.compute": "scalar"}


class _WithoutOthers:
    """Hides NumPy and cloudpickle from pyarrow while that is imported, and pandas for good.

    pyarrow takes a third as long to import without them. It would import pandas just to find out that a column holds no values of pandas, which
    takes longer than to read most reports.
    """

    def find_spec(self, name: str, *_: Any) -> None:
        if name == "pandas" or (name in ("numpy", "cloudpickle") and _arrow_is_being_imported()):
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)


def import_arrow_alone() -> None:
    """Lets this process import pyarrow without NumPy, cloudpickle and pandas, unless it has imported pyarrow already.

    Only for processes of prof's own: pyarrow cannot make arrays and data frames of its tables then.
    """
    if "pyarrow" not in sys.modules:
        sys.meta_path.insert(0, _WithoutOthers())


def _arrow_is_being_imported() -> bool:
    begun = ((sys.modules[name], last) for name, last in _LAST.items() if name in sys.modules)
    return any(not hasattr(module, last) for module, last in begun)
