"""Publishing: old or new state after any failure; sizes at least double; readers survive merges."""

import errno
import hashlib
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.errors import KbError
from git_kb.index.build import Entry, build_segments, entry_id
from git_kb.index.segment import MAX_ENTRIES
from git_kb.index.segments import Segments, merge_and_publish, merge_groups, publish, read_current, write_segment


def segment_of(*contents):
    rows = sorted(Entry(entry_id(hashlib.sha256(c.encode()).digest()[:16], "h"), "text/plain", "h", c) for c in contents)
    (data,) = build_segments(rows)
    return data, [r.entry_id for r in rows]


@given(st.lists(st.integers(1, MAX_ENTRIES), max_size=30))
def test_merging_ends_with_sizes_that_at_least_double(sizes):
    for _ in range(len(sizes) + 1):
        group = merge_groups(sizes)
        if not group:
            break
        assert len(group) > 1
        merged = sum(sizes[i] for i in group)
        assert merged <= MAX_ENTRIES
        sizes = [s for i, s in enumerate(sizes) if i not in group] + [merged]
    assert not merge_groups(sizes)
    small = sorted(s for s in sizes if s <= MAX_ENTRIES // 4)
    assert all(b >= 2 * sum(small[: i + 1]) for i, b in enumerate(small[1:]) if sum(small[: i + 2]) <= MAX_ENTRIES)


def test_publish_and_open(tmp_path):
    kb = str(tmp_path / "kb")
    data, ids = segment_of("one", "two")
    name = write_segment(kb, data)
    assert read_current(kb) == []
    publish(kb, [(name, 2)])
    segments = Segments.open(kb)
    assert segments.names == [name]
    assert segments.missing([*ids, b"x" * 24]) == {b"x" * 24}
    segments.close()


def test_a_damaged_segment_is_named_and_the_others_serve(tmp_path):
    kb = str(tmp_path / "kb")
    names = [write_segment(kb, segment_of(text)[0]) for text in ("one", "two")]
    publish(kb, [(n, 1) for n in names])
    path = tmp_path / "kb" / "segments" / names[0]
    path.write_bytes(path.read_bytes()[:5000])
    segments = Segments.open(kb)
    assert [n for n, _ in segments.damaged] == [names[0]]
    assert segments.names == [names[1]]
    segments.close()


def test_a_reader_keeps_its_snapshot_while_a_writer_merges(tmp_path):
    kb = str(tmp_path / "kb")
    made = [segment_of(text) for text in ("one", "two", "three")]
    names = [write_segment(kb, data) for data, _ in made]
    publish(kb, [(n, 1) for n in names])
    reader = Segments.open(kb)
    live = merge_and_publish(kb, names)
    assert live == read_current(kb)
    assert len(live) < 3
    assert sorted(i for s in reader for i in s.entry_ids()) == sorted(i for _, ids in made for i in ids)
    reader.close()
    after = Segments.open(kb)
    assert not after.missing(i for _, ids in made for i in ids)
    assert sorted(os.listdir(tmp_path / "kb" / "segments")) == sorted(live)
    after.close()


class Fault:
    """Fails the n-th call of the file layer it wraps."""

    def __init__(self, monkeypatch, n):
        self.left = n
        for name in ("write", "fsync", "replace", "rename", "open"):
            monkeypatch.setattr(os, name, self.wrap(getattr(os, name)))

    def wrap(self, call):
        def failing(*args, **kwargs):
            self.left -= 1
            if self.left == 0:
                raise OSError(errno.EIO, "injected")
            return call(*args, **kwargs)

        return failing


@pytest.mark.parametrize("n", range(1, 41))
def test_a_failure_anywhere_leaves_the_old_or_the_new_state(tmp_path, monkeypatch, n):
    kb = str(tmp_path / "kb")
    old = write_segment(kb, segment_of("old")[0])
    publish(kb, [(old, 1)])
    data, ids = segment_of("new")
    with monkeypatch.context() as patch:
        Fault(patch, n)
        try:
            name = write_segment(kb, data)
            publish(kb, [(old, 1), (name, 1)])
        except (OSError, KbError):
            pass
    segments = Segments.open(kb)
    assert not segments.damaged
    assert len(segments.names) in (1, 2)
    assert segments.names[0] == old
    for segment in segments:
        segment.verify()
    segments.close()
    # The fault is gone: the same publish now works.
    name = write_segment(kb, data)
    publish(kb, [(old, 1), (name, 1)])
    again = Segments.open(kb)
    assert not again.missing(ids)
    again.close()


@given(st.binary(max_size=200))
def test_any_bytes_as_current_are_no_index(tmp_path_factory, data):
    kb = tmp_path_factory.mktemp("kb")
    (kb / "current").write_bytes(data)
    assert read_current(str(kb)) == []
