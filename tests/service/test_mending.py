"""What goes wrong where objects are missing: nothing is called a forgery that is only not here."""

from __future__ import annotations

import pytest
from tests.service.scene import Scene

from git_coord.errors import CoordError, Kind
from git_coord.service.recent import persistently


@pytest.mark.parametrize(
    ("kind", "answer", "said"),
    [
        (Kind.UNTRUSTED, None, (Kind.UNKNOWN, "bad; what may be missing here is not to be had: no answer")),
        (Kind.ERROR, None, (Kind.ERROR, "bad")),
        (Kind.UNTRUSTED, False, (Kind.UNTRUSTED, "bad")),
        (Kind.UNTRUSTED, True, (Kind.UNKNOWN, "objects of git coord vanish as fast as they are fetched")),
    ],
)
def test_bad_is_what_is_here_and_unknown_what_is_not(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, kind: Kind, answer: bool | None, said: tuple[Kind, str]
) -> None:
    coord = scene.joined("alpha")[0].coord()

    def mend() -> bool:
        if answer is None:
            raise CoordError(Kind.UNKNOWN, "no answer")
        return answer

    def work() -> None:
        raise CoordError(kind, "bad")

    monkeypatch.setattr(coord.remote, "mend", mend)
    with pytest.raises(CoordError) as caught:
        persistently(coord, work)
    assert (caught.value.kind, caught.value.message.startswith(said[1])) == (said[0], True)
