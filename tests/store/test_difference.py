"""What differs between two sets of manifests, and which manifests are worth comparing."""

import os
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kb import GUIDE, Kb

from git_kb.errors import KbError
from git_kb.model.document import Manifest, SectionRow, docid_of_path
from git_kb.model.source import source_keys
from git_kb.store.difference import _longest_rising, compare, difference, match_rows, spots
from git_kb.store.root import NoKnowledgeBase
from git_kb.store.state import StateName


def kbid(letter):
    return letter * 26


def manifest(source, rows, **more):
    """Return the manifest of a source whose sections are (heading, letter of the kbid)."""
    keys = source_keys(source, [(heading,) for heading, _ in rows])
    sections = tuple(
        SectionRow(kbid(letter), f"c-{ord(letter):08x}", key, 2, 10, (heading,))
        for (heading, letter), key in zip(rows, keys, strict=True)
    )
    blob = more.pop("blob", source.encode().hex().ljust(40, "0")[:40])
    return Manifest(docid_of_path(source.encode()), source, source, blob, "text/markdown", sections, **more)


def told(changes):
    return [(c.status, c.manifest.source, [(s.status, s.has_moved, s.spot.row.heading[0]) for s in c.sections]) for c in changes]


def test_each_kind_of_change():
    old = manifest("a.md", [("One", "a"), ("Four", "d"), ("Two", "b"), ("Three", "c"), ("Five", "e")])
    new = manifest("a.md", [("One", "a"), ("Three", "c"), ("Five", "e"), ("Two", "b"), ("Six", "g"), ("Four", "f")])
    assert told(compare([old], [new])) == [
        ("changed", "a.md", [("moved", True, "Two"), ("added", False, "Six"), ("changed", True, "Four")])
    ]


def test_an_edit_in_place_and_a_removal_where_it_stood():
    old = manifest("a.md", [("One", "a"), ("Gone", "b"), ("Two", "c"), ("Three", "d")])
    new = manifest("a.md", [("One", "a"), ("Two", "e"), ("Three", "d")])
    assert told(compare([old], [new])) == [("changed", "a.md", [("removed", False, "Gone"), ("changed", False, "Two")])]


def test_what_a_row_says_that_it_supersedes_joins_it():
    old = manifest("a.md", [("One", "a")])
    new = manifest("a.md", [("Other", "b")])
    assert told(compare([old], [new])) == [("changed", "a.md", [("added", False, "Other"), ("removed", False, "One")])]
    new = replace(new, sections=(new.sections[0]._replace(supersedes=kbid("a")),))
    assert told(compare([old], [new])) == [("changed", "a.md", [("changed", False, "Other")])]


@pytest.mark.parametrize(
    ("rows", "more"),
    [
        ([("One", "a"), ("Two", "c"), ("Three", "e")], {"moved_from": "a.md"}),
        ([("One", "a"), ("Two", "c"), ("Three", "e")], {"blob": "1" * 40}),
        ([("One", "a"), ("Two", "c")], {}),
    ],
    ids=["told by ingest", "equal source", "half of the sections"],
)
def test_a_rename_is_followed_and_its_sections_are_matched(rows, more):
    old = manifest("a.md", [("One", "a"), ("Two", "b")], blob="1" * 40)
    new = manifest("b/c.md", rows, **more)
    (change,) = compare([old], [new])
    assert (change.status, change.old.source, change.new.source) == ("renamed", "a.md", "b/c.md")
    first = change.sections[0]
    assert (first.status, first.spot.row.heading[0]) == ("changed", "Two")
    assert [c.status for c in compare([old], [new], renames=False)] == ["removed", "added"]


def test_less_than_half_is_another_document():
    old = manifest("a.md", [("One", "a"), ("Two", "b"), ("Three", "c")])
    new = manifest("b.md", [("One", "a"), ("Six", "f"), ("Seven", "g")])
    removed, added = compare([old], [new])
    assert (removed.status, added.status) == ("removed", "added")
    # But the section went from one to the other.
    assert [s.status for s in added.sections] == ["moved", "added", "added"]
    assert added.sections[0] is removed.sections[0]


def test_metadata_counts():
    old = manifest("a.md", [("One", "a")], tags=("x",))
    new = replace(old, tags=("x", "y"), title="Other", extra=(("note", 1),))
    (change,) = compare([old], [new])
    assert change.fields == [("title", "a.md", "Other"), ("tags", ("x",), ("x", "y")), ("note", None, 1)]
    assert change.sections == []


def test_another_blob_with_the_same_sections_is_no_difference():
    old = manifest("a.md", [("One", "a")])
    assert compare([old], [replace(old, blob="f" * 40)]) == []


rows = st.lists(st.tuples(st.sampled_from("PQRS"), st.sampled_from("abcdef")), max_size=7)
sides = st.dictionaries(st.sampled_from(["a.md", "b.md", "c/d.md"]), rows, max_size=3)


@given(rows, rows, st.booleans())
def test_rows_are_matched_one_to_one(left, right, renamed):
    old, new = manifest("a.md", left), manifest("b.md" if renamed else "a.md", right)
    pairs = match_rows(old, new)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    # As many rows of equal content are joined as there can be.
    for letter in "abcdef":
        joined = sum(old.sections[i].kbid == new.sections[j].kbid == kbid(letter) for i, j in pairs)
        assert joined == min(sum(r[1] == letter for r in left), sum(r[1] == letter for r in right))


@given(sides, sides)
def test_every_section_is_accounted_for_once(left, right):
    before = [manifest(source, r) for source, r in left.items()]
    after = [manifest(source, r) for source, r in right.items()]
    assert compare(before, before) == []
    changes = compare(before, after)
    gone, come = [], []
    for change in changes:
        for section in change.sections:
            # Of a move between two documents each tells its own end.
            if section.old is not None and section.old.manifest is change.old:
                gone.append(section.old.citation + section.old.manifest.source + str(section.old.line))
            if section.new is not None and section.new.manifest is change.new:
                come.append(section.new.citation + section.new.manifest.source + str(section.new.line))
    assert len(set(gone)) == len(gone)
    assert len(set(come)) == len(come)
    # What is told turns the content of the old state into that of the new one.
    content = sorted(s.row.kbid for m in before for s in spots(m))
    for change in changes:
        for section in change.sections:
            if section.old is not None and section.old.manifest is change.old:
                content.remove(section.old.row.kbid)
            if section.new is not None and section.new.manifest is change.new:
                content.append(section.new.row.kbid)
    assert sorted(content) == sorted(s.row.kbid for m in after for s in spots(m))
    swapped = {"added": "removed", "removed": "added"}
    back = compare(after, before)
    count = lambda found: sorted(swapped.get(c.status, c.status) for c in found)  # noqa: E731
    assert sorted(c.status for c in changes) == count(back)


@given(st.permutations(range(7)))
def test_longest_rising(numbers):
    rising = _longest_rising(numbers)
    assert rising == sorted(rising)
    at = [numbers.index(n) for n in rising]
    assert at == sorted(at)
    longest = max(n for n in range(8) if any(list(c) == sorted(c) for c in combinations(numbers, n)))
    assert len(rising) == longest


def test_the_states_that_can_be_compared(tmp_path):
    kb = Kb.ready(tmp_path / "r")
    kb.git("tag", "v1")
    kb.write("docs/guide.md", GUIDE.replace("syrup", "fondant"))
    kb.ok("ingest", "-q")
    problems = []

    def differs(old, new):
        with kb.repo() as repo:
            return [(c.status, c.manifest.docid) for c in difference(repo, old, new, problems.append, problems.append)]

    change = [("changed", "docs--guide.md")]
    assert differs(StateName("HEAD"), StateName()) == change
    assert differs(StateName("HEAD"), StateName(cached=True)) == []
    kb.git("add", "-A")
    assert differs(StateName("HEAD"), StateName(cached=True)) == change
    kb.commit("second")
    assert differs(StateName("HEAD"), StateName()) == []
    assert differs(StateName("v1"), StateName("HEAD")) == differs(StateName("v1"), StateName()) == change
    assert problems == []
    assert {s for s, _ in differs(StateName("v1~1"), StateName())} == {"added"}
    assert problems == ["no knowledge base in 'v1~1': there, it counts as empty"]
    with pytest.raises(NoKnowledgeBase):
        differs(StateName("v1~1"), StateName("v1~1"))
    with pytest.raises(KbError):
        differs(StateName("nope"), StateName())


def test_what_is_not_tracked_and_what_is_not_checked_out(tmp_path):
    kb = Kb.ready(tmp_path / "r")
    with kb.repo() as repo:
        kb.git("rm", "-q", "--cached", "kb/documents/notes.txt.toml")
        assert difference(repo, StateName("HEAD"), StateName(), pytest.fail) == []
        kb.git("reset", "-q")
        kb.git("update-index", "--skip-worktree", "kb/documents/notes.txt.toml")
        os.unlink(kb.path("kb/documents/notes.txt.toml"))
        assert difference(repo, StateName("HEAD"), StateName(), pytest.fail) == []
        kb.git("update-index", "--no-skip-worktree", "kb/documents/notes.txt.toml")
        assert [c.status for c in difference(repo, StateName("HEAD"), StateName(), pytest.fail)] == ["removed"]


def test_a_damaged_manifest_is_named_and_left_out(tmp_path):
    kb = Kb.ready(tmp_path / "r")
    kb.write("kb/documents/notes.txt.toml", b"\xff")
    warnings = []
    with kb.repo() as repo:
        assert difference(repo, StateName("HEAD"), StateName(), warnings.append) == []
    assert len(warnings) == 1
    assert "notes.txt.toml" in warnings[0]
