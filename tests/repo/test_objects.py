import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.repo.ident import Ident
from git_kb.repo.objects import decode_commit, decode_tree, encode_commit, encode_tree, is_oid
from git_kb.repo.protocol import DIRECTORY, EXECUTABLE, FILE, DamagedObject, TreeEntry

OIDS = ["1" * 40, "2" * 64]
names = st.binary(min_size=1, max_size=6).filter(
    lambda n: not {0, 47} & set(n) and n not in (b".", b"..") and b"git" not in n.lower()
)
pieces = st.sampled_from(
    [b"tree ", b"parent ", b"author ", b"committer ", b"1" * 40, b"2" * 64, b"\n", b"A <a> 1 +0000", b"encoding x"]
)


@given(st.sampled_from(OIDS), st.dictionaries(names, st.sampled_from([FILE, EXECUTABLE, DIRECTORY])))
def test_tree_round_trip(oid, model):
    entries = [TreeEntry(name, mode, oid) for name, mode in model.items()]
    assert sorted(decode_tree(encode_tree(entries), oid)) == sorted(entries)


@given(
    st.sampled_from(OIDS),
    st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from([b"100644 a\0", b"40000 b\0", b"1" * 20, b"\xff" * 12, b" "])).map(b"".join),
    ),
)
def test_any_bytes_are_a_tree_or_damaged(oid, data):
    with contextlib.suppress(DamagedObject):
        assert sum(len(entry.name) for entry in decode_tree(data, oid)) < len(data) or not data


@given(st.sampled_from(OIDS), st.one_of(st.binary(max_size=200), st.lists(pieces, max_size=20).map(b"".join)))
def test_any_bytes_are_a_commit_or_damaged(oid, data):
    with contextlib.suppress(DamagedObject):
        commit = decode_commit(data, oid)
        assert all(is_oid(name, len(oid)) for name in (commit.tree, *commit.parents))


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=100), st.integers(0, 3))
def test_commit_round_trip(message, n_parents):
    ident = Ident("A", "a@example.com", 5, "-0130")
    data = encode_commit(OIDS[0], [OIDS[0]] * n_parents, ident, ident, message)
    commit = decode_commit(data, OIDS[0])
    assert commit == (OIDS[0], (OIDS[0],) * n_parents, ident, ident, message.rstrip("\n") + "\n")


@pytest.mark.parametrize("encoding", [b"iso-8859-1", b"no-such-codec", b"hex", b"\xff", b"utf-16"])
def test_messages_in_other_encodings(encoding):
    head = b"tree %s\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\nencoding %s\ngpgsig x\n y\n\n" % (OIDS[0].encode(), encoding)
    message = decode_commit(head + b"caf\xe9", OIDS[0]).message
    assert message == "café" if encoding == b"iso-8859-1" else message


def test_modes_of_old_tools():
    rows = b"".join(b"%s a\0%s" % (mode, bytes.fromhex(OIDS[0])) for mode in (b"100664", b"100775", b"040000", b"120000"))
    assert [entry.mode for entry in decode_tree(rows, OIDS[0])] == [FILE, EXECUTABLE, DIRECTORY, 0o120000]
