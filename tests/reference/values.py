"""The types of the fields of statements, as pydantic sees them."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

FORBIDDEN = {
    *range(0x20),
    *range(0x7F, 0xA0),
    0xAD,
    0x61C,
    0x180E,
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xD800, 0xE000),
    *range(0xFDD0, 0xFDF0),
    0xFEFF,
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
    *(plane * 0x10000 + last for plane in range(17) for last in (0xFFFE, 0xFFFF)),
}


def require(holds: bool) -> None:
    """Fail as validators do."""
    if not holds:
        raise ValueError


def matching(pattern: str) -> AfterValidator:
    """Return a validator of whole strings."""

    def check(value: str) -> str:
        require(re.compile(pattern).fullmatch(value) is not None)
        return value

    return AfterValidator(check)


def _agent(value: str) -> str:
    require(".." not in value and value[-1] != "." and not value.endswith(".lock"))
    return value


def _time(value: str) -> str:
    made = datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    require(made.year >= 1970)
    return value


def _line(value: str) -> str:
    require(len(value) <= 500 and not any(ord(char) in FORBIDDEN for char in value))
    return value


def _key(value: str) -> str:
    algorithm, encoded = value.split(" ")
    require(len(value) <= 4096)
    blob = base64.b64decode(encoded.encode("ascii"), validate=True)
    require(blob[:4] == len(algorithm).to_bytes(4, "big") and blob[4 : 4 + len(algorithm)] == algorithm.encode())
    require(base64.b64encode(blob).decode() == encoded)
    return value


def decoded(value: str) -> bytes:
    """Return the bytes of canonical base64."""
    data = base64.b64decode(value.encode("ascii"), validate=True)
    require(base64.b64encode(data).decode() == value)
    return data


def _base64(value: str) -> str:
    require(len(value) <= 8192)
    decoded(value)
    return value


def no_repetition(*names: str) -> AfterValidator:
    """Return a validator of lists whose entries differ in these attributes, or as a whole."""

    def check(values: list[Any]) -> list[Any]:
        keys = [tuple(getattr(value, name) for name in names) if names else value for value in values]
        require(len(set(keys)) == len(keys))
        return values

    return AfterValidator(check)


class Exact(BaseModel):
    """An object with exactly its members."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Encoded(Exact):
    """A name whose bytes are not UTF-8."""

    b64: StrictStr

    @property
    def data(self) -> bytes:
        """Return its bytes; they may not be UTF-8, nor hold NUL."""
        data = decoded(self.b64)
        require(b"\0" not in data)
        try:
            data.decode()
        except UnicodeDecodeError:
            return data
        raise ValueError


def _name(value: str | Encoded) -> str | Encoded:
    data = value.data if isinstance(value, Encoded) else value.encode()
    require(bool(data) and b"\0" not in data)
    return value


Name = Annotated[StrictStr | Encoded, AfterValidator(_name)]
Agent = Annotated[StrictStr, matching("[a-z0-9][a-z0-9._-]{0,62}"), AfterValidator(_agent)]
Base64 = Annotated[StrictStr, AfterValidator(_base64)]
Bool = StrictBool
Count = Annotated[StrictInt, Field(ge=0, le=2**53 - 1)]
Hash = Annotated[StrictStr, matching("[0-9a-f]{40}|[0-9a-f]{64}")]
Key = Annotated[StrictStr, matching("[a-z0-9.@-]{1,64} [A-Za-z0-9+/]*=*"), AfterValidator(_key)]
Line = Annotated[StrictStr, AfterValidator(_line)]
Nonce = Annotated[StrictStr, matching("[0-9a-f]{32}")]
Positive = Annotated[StrictInt, Field(ge=1, le=2**53 - 1)]
PostId = Annotated[StrictStr, matching("[A-Za-z0-9]{8}")]
Seconds = Annotated[StrictInt, Field(ge=1, le=366 * 86400)]
Session = Annotated[StrictStr, matching("[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")]
Short = Annotated[Line, Field(min_length=1, max_length=64)]
Time = Annotated[
    StrictStr,
    matching(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"),
    AfterValidator(_time),
]
Uuid = Annotated[StrictStr, matching("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")]
