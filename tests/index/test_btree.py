"""The tree reads back as a sorted dict does."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from git_kb.index.btree import MANY_VISITS, BadTree, Tree, bulk_load

entries = st.dictionaries(st.binary(min_size=1, max_size=64), st.binary(max_size=100), max_size=400)


@given(entries, st.binary(max_size=64))
@example({b"k": b""}, b"")
def test_tree_reads_back_like_a_sorted_dict(model, start):
    tree = Tree.over(bulk_load(sorted(model.items()), page_size=512), page_size=512)
    assert list(tree.scan(start)) == [(k, model[k]) for k in sorted(model) if k >= start]
    assert all(tree.get(k) == v for k, v in model.items())
    assert tree.get(start) == model.get(start)


def test_many_keys_make_several_levels():
    model = {b"%06d" % i: b"v%d" % i for i in range(5000)}
    tree = Tree.over(bulk_load(sorted(model.items()), page_size=512), page_size=512)
    assert list(tree.scan()) == sorted(model.items())
    # Often enough for branch pages to be kept.
    for _ in range(2):
        assert all(tree.get(k) == v for k, v in model.items())
        assert tree.get(b"") is tree.get(b"0000001") is tree.get(b"9") is None


def test_keys_out_of_order_are_refused():
    with pytest.raises(ValueError, match="order"):
        bulk_load([(b"b", b""), (b"a", b"")])
    with pytest.raises(ValueError, match="order"):
        bulk_load([(b"a", b""), (b"a", b"")])


@given(entries.filter(bool), st.data())
def test_damaged_pages_raise_or_answer_but_never_hang(model, data):
    """Below the page checks the tree itself must stay within its pages; any other exception fails."""
    raw = bulk_load(sorted(model.items()), page_size=512)
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] = data.draw(st.integers(0, 255))
    tree = Tree.over(raw, page_size=512)
    for key in [*model][:20] * MANY_VISITS:
        with suppress(BadTree, IndexError, ValueError):
            tree.get(key)
