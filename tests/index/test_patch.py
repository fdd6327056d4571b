"""Patched views: the same bytes as made anew, whatever has changed; and no look at all entries when that is little."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_view import document, entry, segments_of

from git_kb.index import patch
from git_kb.index.patch import patch_order
from git_kb.index.segments import Segments
from git_kb.index.view import View, encode_documents, encode_view, join_parts

shapes = st.dictionaries(st.integers(0, 9), st.lists(st.integers(0, 11), max_size=5), max_size=8)


def made(shape):
    """Return documents by number, which is the order of their names."""
    return {d: document(d, [entry(n).entry_id for n in shape[d]]) for d in sorted(shape)}


def parts_of(shape, old_shape, old):
    """Return the part of a state: what is as in the old one is taken from the old view, runs of it at once."""
    numbers = {d: number for number, d in enumerate(sorted(old_shape))}
    parts = []
    run = []
    for d in sorted(shape):
        if old_shape.get(d) == shape[d] and (not run or numbers[d] == numbers[run[-1]] + 1):
            run.append(d)
            continue
        parts += [old.part(numbers[run[0]], numbers[run[-1]] + 1)] if run else []
        run = [d] if old_shape.get(d) == shape[d] else []
        parts += [] if run else [encode_documents([made(shape)[d]])]
    parts += [old.part(numbers[run[0]], numbers[run[-1]] + 1)] if run else []
    return join_parts(parts)


groupings = st.lists(st.sets(st.integers(0, 11), min_size=1), max_size=4)


@given(shapes, st.data())
def test_a_patched_view_is_the_one_made_anew(old_shape, data):
    changes = data.draw(st.dictionaries(st.integers(0, 9), st.none() | st.lists(st.integers(0, 11), max_size=5), max_size=4))
    shape = {d: ns for d, ns in (old_shape | changes).items() if ns is not None}
    groups = data.draw(groupings)
    if data.draw(st.booleans()):
        # Mostly nothing is missing.
        groups.append(set(range(12)))
    old = View.over("v", encode_view(b"old", encode_documents(made(old_shape).values()), segments_of(*groups)))
    later = data.draw(st.permutations([*groups, *data.draw(groupings)]))
    segments = segments_of(*later[: data.draw(st.integers(0, len(later)))])
    part = parts_of(shape, old_shape, old)
    assert encode_view(b"new", part, segments, ["bad"], old) == encode_view(b"new", part, segments, ["bad"])
    assert [d.name for d in View.over("v", encode_view(b"new", part, segments)).documents()] == [f"{d}.toml" for d in sorted(shape)]


def many(n_documents):
    return {d: [3 * d, 3 * d + 1, 3 * d + 2] for d in range(n_documents)}


def test_a_small_change_is_patched():
    old_shape = many(40)
    numbers = range(120)
    first = segments_of(numbers)
    old = View.over("v", encode_view(b"old", encode_documents(made(old_shape).values()), first))
    shape = {**old_shape, 7: [21, 200, 22], 50: [201, 0]}
    del shape[20]
    segments = Segments("", [*first, *segments_of([200, 201])], [])
    part = parts_of(shape, old_shape, old)
    patched = patch_order(part, segments, old)
    assert patched is not None
    _, masks, n_entries = patched
    assert n_entries == 120 - 4 + 2
    assert [mask is None or mask.count(0) for _, mask in masks] == [4, 0]
    assert encode_view(b"new", part, segments, (), old) == encode_view(b"new", part, segments)


def stranger(old_shape, segments):
    return View.over("v", encode_view(b"old", encode_documents(made(old_shape).values()), segments))


@pytest.mark.parametrize("why", ["something was missing", "much is different", "the order is another", "a segment is lost"])
def test_what_cannot_be_patched_is_made_anew(why, monkeypatch):
    old_shape = many(20)
    halves = segments_of(range(30), range(30, 60))
    old = stranger(old_shape, halves)
    segments = halves
    if why == "something was missing":
        old = stranger(old_shape, segments_of(range(30)))
    elif why == "much is different":
        monkeypatch.setattr(patch, "MAX_ROWS", 2)
    elif why == "the order is another":
        segments = Segments("", list(halves)[::-1], [])
    else:
        segments = Segments("", list(halves)[:1], [])
    shape = {**old_shape, 3: [random.Random(1).randrange(60), 9, 10]}
    part = parts_of(shape, old_shape, old)
    assert patch_order(part, segments, old) is None
    assert encode_view(b"new", part, segments, (), old) == encode_view(b"new", part, segments)
