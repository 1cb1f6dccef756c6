"""Declarations at a fraction of the price: a command declares eighty classes before it has done anything.

`typing.NamedTuple` compiles each annotation, and `dataclass` writes and compiles seven methods, for each class anew.
Annotations are for the reader and the type checker only, and one method does for all classes: so a named tuple costs
0.05 instead of 0.10 ms here and a frozen dataclass 0.06 instead of 0.4, which is a fifth of what a claim takes.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar, dataclass_transform

C = TypeVar("C")

if TYPE_CHECKING:
    from typing import NamedTuple  # noqa: TID251 - what it stands for
else:
    from collections import namedtuple

    class _Declaring(type):
        """Make of the class that is being declared a tuple with the same fields, defaults, methods and docstring."""

        def __new__(cls, name: str, _bases: tuple[type, ...], body: dict[str, Any]) -> type:
            fields = body.get("__annotations__")
            if fields is None or not all(isinstance(each, str) for each in fields.values()):
                raise TypeError(f"{name}: `from __future__ import annotations` is missing")
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for key, value in body.items():
                if key not in ("__module__", "__classcell__"):
                    setattr(made, key, value)
            return made

    NamedTuple = type.__new__(_Declaring, "NamedTuple", (), {})


class Frozen:
    """The methods of a frozen dataclass, for all of them: its base."""

    __slots__ = ()
    DEFAULTS: ClassVar[dict[str, Any]] = {}
    """Every field, in order, with its default or MISSING."""

    def __init__(self, **values: Any) -> None:
        for name, default in self.DEFAULTS.items():
            value = values.pop(name, default)
            if value is MISSING:
                raise TypeError(f"{type(self).__name__} needs {name}")
            object.__setattr__(self, name, value)
        if values:
            raise TypeError(f"{type(self).__name__} has no {', '.join(values)}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.DEFAULTS)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.DEFAULTS))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.DEFAULTS)})"


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False)
def frozen(cls: type[C]) -> type[C]:
    """Make a subclass of `Frozen` a dataclass with slots that is built with keyword arguments."""
    made = dataclass(init=False, eq=False, repr=False, kw_only=True, slots=True)(cls)
    made.DEFAULTS = {field.name: field.default for field in fields(made)}  # type: ignore[attr-defined,arg-type]
    return made


__all__ = ["Frozen", "NamedTuple", "frozen"]
