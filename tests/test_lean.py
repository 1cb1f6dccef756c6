"""The light declarations behave as `typing.NamedTuple` and a frozen dataclass do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import typing

import pytest

from git_coord.lean import Frozen, NamedTuple, frozen


class Light(NamedTuple):
    """A tuple."""

    a: int
    b: str = "b"

    @property
    def both(self) -> str:
        return f"{self.a}{self.b}"


class Heavy(typing.NamedTuple):
    """A tuple."""

    a: int
    b: str = "b"


@frozen
class Base(Frozen):
    """A base."""

    KIND: typing.ClassVar[str] = "base"
    x: int
    y: int = 2


@frozen
class Derived(Base):
    """More."""

    z: int


def test_a_light_tuple_is_what_a_named_tuple_is() -> None:
    light, heavy = Light(1), Heavy(1)
    assert light == heavy
    assert (light._fields, light._field_defaults, light._asdict()) == (heavy._fields, {"b": "b"}, heavy._asdict())
    assert repr(light) == repr(heavy).replace("Heavy", "Light")
    assert (Light.__doc__, Light.__module__, Light.__qualname__) == (Heavy.__doc__, __name__, "Light")
    assert typing.get_type_hints(Light) == typing.get_type_hints(Heavy)
    assert light._replace(b="c").both == "1c"
    assert pickle.loads(pickle.dumps(light)) == copy.deepcopy(light) == light
    with pytest.raises(TypeError):
        Light()  # type: ignore[call-arg]


def test_a_light_tuple_without_string_annotations_is_refused_where_it_is_declared() -> None:
    code = compile("class Eager(NamedTuple):\n    a: int", "eager.py", "exec", dont_inherit=True)
    with pytest.raises(TypeError, match="from __future__ import annotations"):
        exec(code, {"NamedTuple": NamedTuple, "__name__": "x"})


def test_a_frozen_class_is_a_dataclass_that_nothing_changes() -> None:
    made = Derived(x=1, z=3)
    assert dataclasses.asdict(made) == {"x": 1, "y": 2, "z": 3}
    assert repr(made) == "Derived(x=1, y=2, z=3)"
    assert made == Derived(x=1, y=2, z=3) != Derived(x=1, y=2, z=4)
    assert made != Base(x=1)
    assert hash(made) == hash(Derived(x=1, z=3))
    assert dataclasses.replace(made, y=5) == Derived(x=1, y=5, z=3)
    assert not hasattr(made, "__dict__")
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del made.x


def test_a_frozen_class_wants_every_field_and_no_other() -> None:
    with pytest.raises(TypeError, match="Derived needs x"):
        Derived(z=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="Derived has no w, v"):
        Derived(x=1, z=3, w=4, v=5)  # type: ignore[call-arg]
