"""Gives a field of an answer the name that all answers agreed on, beside the older one that its schema promised."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import force_setattr

_AGREED = {"kernel": "kernel_name", "warnings": "cautions"}


class WithAgreedNames(Struct, frozen=True):
    """An answer in which `kernel` is an older name of `kernel_name`, or `warnings` of `cautions`. It declares both, and the newer is filled here."""

    def __post_init__(self) -> None:
        for old, agreed in _AGREED.items():
            if {old, agreed} <= set(self.__struct_fields__):
                force_setattr(self, agreed, getattr(self, old))
