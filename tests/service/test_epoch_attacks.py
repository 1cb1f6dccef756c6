"""Checkpoints that may not begin an epoch: by whom, of what, and states that nobody signed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.service.eras import begin, drop_kept, forgetting, fresh
from tests.service.scene import Desk, Scene, trouble
from tests.service.tampering import set_ledger

from git_coord.crypto.record import seal
from git_coord.domain import chain
from git_coord.domain.chain import Extension, Sealed
from git_coord.domain.ids import Oid
from git_coord.domain.placing import epoch_fault
from git_coord.domain.statements import Checkpoint, to_bytes
from git_coord.errors import CoordError
from git_coord.service.lineage import lineage
from git_coord.service.records import open_operation


def checkpoint(desk: Desk, signer: str, **changes: object) -> Extension:
    """Return a checkpoint on the desk's head that some key signed, with other members than it should have."""
    head, key = desk.head(), desk.scene.signer(signer)
    first = Checkpoint(
        repo=head.state.repo,
        agent=desk.agent,
        session=desk.session,
        seq=head.state.agents[desk.agent].seq + 1,
        at=desk.clock.now(),
        nonce=desk.scene.nonce(),
        head=head.oid,
        number=1,
        old=head.oid,
        root=lineage(desk.store, head.oid, None)[0],
        tree=head.oid,
    )
    op = replace(first, **changes)  # type: ignore[arg-type]
    signed = op if "tree" in changes else replace(op, tree=chain.epoch_tree(head, op, "sha1"))
    sealed = Sealed(seal(to_bytes(signed), key), signed, key.key)
    # As somebody would who does not care whether it may begin here.
    writer, outcome = chain._begun(head, sealed, "sha1")
    return writer.commit(None, desk.clock.now(), outcome.state, ["alpha begins epoch 1"], ())


ATTACKS = {
    "by a member without a policy key": ("beta", {}, "it is not signed by a policy key"),
    "with another number": ("alpha", {"number": 2}, "epoch 2 does not follow"),
    "of a commit that is nowhere": ("alpha", {"old": Oid("a" * 40)}, "the ledger commit before it is missing"),
    "of another state": ("alpha", {"tree": Oid("a" * 40)}, "its state is not the one that was signed"),
    "of another ledger": ("alpha", {"repo": "00000000-0000-4000-8000-0000000000ff"}, "it belongs to another ledger"),
    "replayed": ("alpha", {"seq": 1}, "seq 1 is not above alpha's last"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_checkpoint_that_may_not_begin_an_epoch_is_refused(scene: Scene, name: str) -> None:
    alpha, beta = scene.joined("alpha", "beta")
    alpha.granted("a.txt")
    beta.sync()
    signer, changes, reason = ATTACKS[name]
    made = checkpoint(alpha, signer, **changes)
    scene.hub.write(made.objects)
    set_ledger(scene.hub, made.head.oid)
    before = beta.tip()
    with pytest.raises(CoordError) as caught:
        beta.sync()
    assert trouble(caught.value)[0] == "untrusted"
    assert reason in caught.value.message
    assert beta.tip() == before
    assert beta.holdings() == {"a.txt": "alpha"}


def test_a_state_that_was_not_signed_is_not_taken_by_a_fresh_clone(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    alpha.granted("a.txt")
    begin(alpha)
    head = alpha.head()
    tree = head.tree.changed("claims", None)
    trees = tuple(tree.hashed("sha1"))
    data = chain.commit_bytes(tree, None, head.date, ["alpha begins epoch 1"])
    commit = chain.hash_object("commit", data, "sha1")
    scene.hub.write([*trees, commit])
    set_ledger(scene.hub, commit.oid)
    drop_kept(scene.hub)
    with pytest.raises(CoordError, match="its state is not the one that was signed"):
        fresh(scene, forgetting(scene)).init()


def test_only_a_policy_key_ends_an_epoch(scene: Scene) -> None:
    _, beta = scene.joined("alpha", "beta")
    with pytest.raises(CoordError) as caught:
        begin(beta)
    assert trouble(caught.value) == ("lost", "the key here is not one of the policy's")


def test_a_checkpoint_is_nothing_that_a_helper_places(scene: Scene) -> None:
    (alpha,) = scene.joined("alpha")
    made = checkpoint(alpha, "alpha")
    sealed = _sealed_of(alpha, made)
    assert chain.extend(alpha.head(), [sealed], "sha1") is None
    assert epoch_fault(alpha.state(), alpha.head().oid, sealed.op, sealed.key) is None  # type: ignore[arg-type]


def _sealed_of(desk: Desk, made: Extension) -> Sealed:
    blob = next(found.data for found in made.objects if b'"kind":"checkpoint"' in found.data)
    return open_operation(blob)
