"""Keeps pyarrow from importing NumPy and pandas, of which prof needs nothing."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import Any


class _WithoutOthers(MetaPathFinder):
    """Hides NumPy from pyarrow while that is imported, and pandas for good.

    pyarrow takes half as long to import without NumPy. It would import pandas to see that the values of a column
    are none of its own, which takes longer than to read most reports.
    """

    def find_spec(self, name: str, *_: Any) -> None:
        if name == "pandas" or (name == "numpy" and _arrow_is_being_imported()):
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)


def import_arrow_alone() -> None:
    """Lets this process import pyarrow without NumPy and pandas, unless it has pyarrow already.

    Only for processes of prof's own: pyarrow cannot make arrays and data frames of its tables then.
    """
    if "pyarrow" not in sys.modules:
        sys.meta_path.insert(0, _WithoutOthers())


def _arrow_is_being_imported() -> bool:
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and not hasattr(arrow, "Table")
