"""Manifests merged: laws that hold for any three versions, and what each case gives (docs/format-merge.md)."""

import base64
import re
from hashlib import sha1, sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.errors import KbError
from git_kb.merge.manifest import merge_manifests
from git_kb.model.document import Manifest, SectionRow
from git_kb.model.section import chunk_ids
from git_kb.model.source import source_keys
from git_kb.store.manifest import parse_manifest, render_manifest

NAME = "docs--a.md.toml"
ZEROS = "0" * 40


def kbid_of(words):
    return base64.b32encode(sha256(words.encode()).digest()[:16]).decode().lower().rstrip("=")


def manifest(sections, source="docs/a.md", tags=(), extra=(), blob=None, **head):
    """Return a manifest of sections as (heading path, words), as a cut gives it. `blob`: made of the words unless it is given."""
    keys = source_keys(source, [heading for heading, *_ in sections])
    chunks = chunk_ids(sha256(words.encode()).hexdigest() for _, words, *_ in sections)
    rows = tuple(
        SectionRow(
            kbid_of(words),
            chunk,
            key,
            words.count("\n") + 1,
            len(words.encode()) + 1,
            heading,
            extra=tuple((more or [{}])[0].items()),
        )
        for (heading, words, *more), key, chunk in zip(sections, keys, chunks, strict=True)
    )
    blob = blob or sha1(repr(sections).encode()).hexdigest()
    return Manifest(
        docid=NAME.removesuffix(".toml"),
        title=head.pop("title", "A"),
        source=source,
        blob=blob,
        type=head.pop("type", "text/markdown"),
        sections=rows,
        tags=tuple(sorted(set(tags))),
        extra=tuple(extra),
        **head,
    )


def conflicting(base, ours, theirs):
    """A text merge that settles nothing."""
    return b"<<<<<<< ours\n" + ours + b"=======\n" + theirs + b">>>>>>> theirs\n", True


def no_text_merge(base, ours, theirs):
    pytest.fail("text was merged")


def merge(base, ours, theirs, merge_text=no_text_merge):
    texts = [render_manifest(m).encode() if isinstance(m, Manifest) else m for m in (base, ours, theirs)]
    merged, in_conflict = merge_manifests(*texts, merge_text)
    assert not in_conflict
    return parse_manifest(merged.decode(), NAME)


def words(merged):
    return [row.kbid for row in merged.sections]


headings = st.lists(st.sampled_from(["Install", "Use", "Notes", 'Ex "a" \\b', "日本"]), max_size=3).map(tuple)
texts = st.text(alphabet="ab\né", min_size=1, max_size=3)
sections = st.lists(st.tuples(headings, texts), max_size=6)
tags = st.sets(st.sampled_from(["a", 'b"', "ç", "d\\"]))


@st.composite
def edited(draw, base):
    """Return a list of sections made of another by a few edits."""
    result = list(base)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(result)))
        edit = draw(st.sampled_from(["insert", "delete", "change", "rename", "move"]))
        if edit == "insert" or at == len(result):
            result.insert(at, draw(st.tuples(headings, texts)))
        elif edit == "delete":
            del result[at]
        elif edit == "change":
            result[at] = (result[at][0], draw(texts))
        elif edit == "rename":
            result[at] = (draw(headings), result[at][1])
        else:
            result.insert(draw(st.integers(0, len(result) - 1)), result.pop(at))
    return result


@st.composite
def histories(draw):
    base = draw(sections)
    versions = [base, draw(edited(base)), draw(edited(base))]
    made = []
    for version in versions:
        extra = (("note", draw(st.sampled_from(["x", "y"]))),) if draw(st.booleans()) else ()
        made.append(manifest(version, tags=draw(tags), title=draw(st.sampled_from(["A", "B"])), extra=extra))
    if draw(st.booleans()):
        made[0] = b""
    return made


def rendered(versions):
    return [v if isinstance(v, bytes) else render_manifest(v).encode() for v in versions]


def sorted_rows(merged):
    """Return what the rows say, whatever their order: keys and chunk ids of repeats count the order."""
    return sorted((row.kbid, row.heading, row.n_bytes, row.conflict, row.chunk.split("-")[1]) for row in merged.sections)


@given(histories())
def test_swapped_sides_give_the_same_but_for_the_order(versions):
    base, ours, theirs = rendered(versions)
    one, conflict = merge_manifests(base, ours, theirs, conflicting)
    other, swapped = merge_manifests(base, theirs, ours, conflicting)
    assert conflict == swapped
    if not conflict:
        one, other = (parse_manifest(text.decode(), NAME) for text in (one, other))
        assert sorted_rows(one) == sorted_rows(other)
        assert render_manifest(Manifest(**{**fields(one), "sections": ()})) == render_manifest(
            Manifest(**{**fields(other), "sections": ()})
        )


def fields(made):
    return {name: getattr(made, name) for name in made.__slots__}


@given(histories())
def test_what_one_side_left_alone_is_as_the_other_has_it(versions):
    base, ours, _ = rendered(versions)
    assert merge_manifests(base, ours, base, no_text_merge) == (ours, False)
    assert merge_manifests(base, base, ours, no_text_merge) == (ours, False)
    assert merge_manifests(base, ours, ours, no_text_merge) == (ours, False)


@given(histories())
def test_no_section_is_lost_and_none_comes_back(versions):
    base, ours, theirs = rendered(versions)
    merged, conflict = merge_manifests(base, ours, theirs, conflicting)
    if conflict:
        return
    merged = parse_manifest(merged.decode(), NAME)
    before, mine, other = (set(words(v)) if isinstance(v, Manifest) else set() for v in versions)
    assert set(words(merged)) >= (mine - before) | (other - before) | (mine & other)
    # What comes back was changed by the other side. A section is known by its words or by its key.
    assert set(words(merged)) <= mine | other
    keys = source_keys(merged.source, [row.heading for row in merged.sections])
    assert keys == [row.source_key for row in merged.sections] or merged.blob != ZEROS
    assert len({row.chunk for row in merged.sections}) == len(merged.sections)


@given(histories())
def test_merged_again_nothing_changes(versions):
    base, ours, theirs = rendered(versions)
    merged, conflict = merge_manifests(base, ours, theirs, conflicting)
    if not conflict:
        assert merge_manifests(theirs, merged, theirs, no_text_merge) == (merged, False)
    # Words that stand twice can be taken for moved, after one of the two has gone.
    if not conflict and all(len(set(words(v))) == len(words(v)) for v in versions if v):
        again, conflict = merge_manifests(base, merged, theirs, conflicting)
        if not conflict:
            assert set(words(parse_manifest(again.decode(), NAME))) == set(words(parse_manifest(merged.decode(), NAME)))


@given(histories())
def test_a_blob_stays_only_with_its_own_rows(versions):
    """The rows tile their blob, or the blob is zeros, which no source has: then ingest cuts it anew."""
    base, ours, theirs = rendered(versions)
    merged, conflict = merge_manifests(base, ours, theirs, conflicting)
    if conflict:
        return
    merged = parse_manifest(merged.decode(), NAME)
    if merged.blob != ZEROS:
        side = next(v for v in versions[1:] if v.blob == merged.blob)
        shape = [(row.kbid, row.heading, row.n_lines, row.n_bytes) for row in side.sections]
        assert [(row.kbid, row.heading, row.n_lines, row.n_bytes) for row in merged.sections] == shape


@given(st.lists(st.binary(max_size=60), min_size=3, max_size=3))
def test_any_bytes_are_left_to_the_text_merge(versions):
    base, ours, theirs = versions
    merged, conflict = merge_manifests(base, ours, theirs, conflicting)
    assert conflict == (ours != theirs and base not in (ours, theirs))
    assert merged in (ours, theirs, conflicting(base, ours, theirs)[0])


@given(histories(), st.data())
def test_edited_bytes_give_what_the_reader_takes_or_a_conflict(versions, data):
    """Whatever a person does to one side: a clean result is a manifest, if both sides were."""
    base, ours, theirs = rendered(versions)
    lines = ours.split(b"\n")
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = data.draw(
        st.sampled_from([b"", b"# note", b'tier = "S"', b"[[sections]]", lines[at] + b" # x", b'"k e" = 1', b"\xff"])
    )
    ours = b"\n".join(lines)
    merged, conflict = merge_manifests(base, ours, theirs, conflicting)
    readable = True
    for side in (ours, theirs):
        try:
            parse_manifest(side.decode(), NAME)
        except (KbError, UnicodeDecodeError):
            readable = False
    if readable and not conflict:
        parse_manifest(merged.decode(), NAME)


ONE = ((("Guide",), "one"), (("Guide", "Install"), "two"), (("Guide", "Use"), "three"))


def test_two_sections_edited_on_two_sides():
    ours = [ONE[0], (ONE[1][0], "two!!"), ONE[2]]
    theirs = [ONE[0], ONE[1], (ONE[2][0], "three?\nfour")]
    merged = merge(manifest(ONE), manifest(ours), manifest(theirs))
    assert words(merged) == [kbid_of(w) for w in ("one", "two!!", "three?\nfour")]
    assert [row.n_bytes for row in merged.sections] == [4, 6, 12]
    assert merged.blob == ZEROS
    assert not any(row.conflict for row in merged.sections)


def test_one_section_edited_on_both_sides_keeps_both_in_order():
    ours, theirs = ([ONE[0], (ONE[1][0], text), ONE[2]] for text in ("ours", "theirs"))
    merged = merge(manifest(ONE), manifest(ours), manifest(theirs))
    assert [(row.kbid, row.conflict) for row in merged.sections] == [
        (kbid_of("one"), ""),
        (kbid_of("ours"), "changed"),
        (kbid_of("theirs"), "changed"),
        (kbid_of("three"), ""),
    ]


def test_deleted_on_one_side_and_edited_on_the_other_stays():
    merged = merge(manifest(ONE), manifest([ONE[0], ONE[2], ((), "new")]), manifest([ONE[0], (ONE[1][0], "two!"), ONE[2]]))
    assert [(row.kbid, row.conflict) for row in merged.sections] == [
        (kbid_of("one"), ""),
        (kbid_of("two!"), "deleted"),
        (kbid_of("three"), ""),
        (kbid_of("new"), ""),
    ]


def test_deleted_on_one_side_and_untouched_on_the_other_goes():
    merged = merge(manifest(ONE), manifest([ONE[0], ONE[2]]), manifest([*ONE, (("New",), "new")]))
    assert words(merged) == [kbid_of(w) for w in ("one", "three", "new")]


def test_words_that_stood_twice_stay_when_each_side_drops_another():
    twice = [(("A",), "same"), (("B",), "same")]
    merged = merge(manifest([*twice, ONE[0]]), manifest([twice[0], ONE[0]]), manifest([twice[1], ONE[0]]))
    assert words(merged) == [kbid_of("same"), kbid_of("one")]


def test_the_order_of_both_sides_is_kept():
    more = {name: ((name,), name) for name in ("A1", "A2", "B1", "B2")}
    ours = [more["A1"], ONE[0], ONE[1], ONE[2], more["A2"]]
    theirs = [more["B1"], ONE[2], ONE[0], more["B2"], ONE[1]]
    merged = merge(manifest(ONE), manifest(ours), manifest(theirs))
    assert words(merged) == [kbid_of(w) for w in ("A1", "B1", "three", "A2", "one", "B2", "two")]


def test_a_heading_repeated_before_a_section_is_no_edit_of_it():
    """It takes the key of the one that was there."""
    base = [(("G", "Ex"), "old")]
    merged = merge(manifest(base), manifest([(("G", "Ex"), "new"), *base]), manifest([(("G", "Ex"), "old!")]))
    assert [(row.kbid, row.conflict) for row in merged.sections] == [(kbid_of("new"), ""), (kbid_of("old!"), "")]


def test_one_side_cuts_anew_the_other_tags():
    edited = manifest([*ONE, (("New",), "new")], tags=["x", "y"])
    tagged = manifest(ONE, tags=["y", "z"], tier="S", extra=[("reviewed by", "Ann")])
    merged = merge(manifest(ONE, tags=["w", "y"]), edited, tagged)
    assert merged.blob == edited.blob
    assert merged.sections == edited.sections
    assert (merged.tags, merged.tier, merged.extra) == (("x", "y", "z"), "S", (("reviewed by", "Ann"),))


def test_keys_of_rows_that_nobody_knows_here_are_merged():
    base = [(("A",), "a", {"note": "1", "gone": 1})]
    ours = [(("A",), "b", {"note": "1", "gone": 1, "mine": [1, 2]})]
    theirs = [(("A",), "a", {"note": "2"})]
    merged = merge(manifest(base), manifest(ours), manifest(theirs))
    assert dict(merged.sections[0].extra) == {"note": "2", "mine": [1, 2]}
    assert words(merged) == [kbid_of("b")]


def test_added_on_both_sides():
    merged = merge(b"", manifest([(("A",), "a"), (("B",), "b")]), manifest([(("B",), "b"), (("C",), "c")]))
    assert words(merged) == [kbid_of(w) for w in "abc"]
    same = merge(b"", manifest(ONE, tags=["x"]), manifest(ONE, tags=["y"]))
    assert (same.sections, same.tags, same.blob) == (manifest(ONE).sections, ("x", "y"), manifest(ONE).blob)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"tier": "S"}, {"tier": "A"}),
        ({"title": "X"}, {"title": "Y"}),
        ({"extra": [("note", 1)]}, {"extra": [("note", 2)]}),
        ({"extra": [("note", 1)]}, {}),
    ],
)
def test_what_two_people_set_is_a_conflict_of_that_line_alone(ours, theirs):
    base = manifest(ONE, tier="B", extra=[("note", 0)])
    versions = [
        base,
        *(manifest(ONE, **{"tier": "B", "extra": [("note", 0)], "tags": ["new"], **more}) for more in (ours, theirs)),
    ]
    versions[2] = manifest(ONE, **{"tier": "B", "extra": [], **theirs}) if not theirs else versions[2]
    asked = []

    def merge_text(*three):
        asked.extend(three)
        return b"merged", True

    assert merge_manifests(*rendered(versions), merge_text) == (b"merged", True)
    changed = [set(asked[0].split(b"\n")) ^ set(side.split(b"\n")) for side in asked[1:]]
    assert all(re.fullmatch(rb'(tier|title|note) = ("\w"|\d)', line) for lines in changed for line in lines)
    # The rest is merged by then.
    assert all(b'tags = ["new"]' in side for side in asked)


def test_a_title_of_two_new_cuts_is_no_conflict():
    merged = merge(manifest(ONE), manifest([*ONE, ((), "x")], title="Zoo"), manifest([((), "y"), *ONE], title="Ape"))
    assert merged.title == "Ape"


def test_a_moved_source_takes_the_edits_of_the_other_side_along():
    ours = manifest(ONE, source="docs/b.md", moved_from="docs/a.md", blob=manifest(ONE).blob)
    theirs = manifest([*ONE[:2], (ONE[2][0], "three!")])
    merged = merge(manifest(ONE), ours, theirs)
    assert (merged.source, merged.moved_from, merged.blob) == ("docs/b.md", "docs/a.md", theirs.blob)
    assert words(merged) == [kbid_of(w) for w in ("one", "two", "three!")]
    assert [row.source_key for row in merged.sections] == source_keys("docs/b.md", [row.heading for row in merged.sections])


def test_another_type_does_not_change_what_the_old_rows_are():
    merged = merge(manifest(ONE), manifest(ONE, type="text/plain"), manifest([*ONE, ((), "new")]))
    assert merged.type == "text/plain"
    assert [merged.row_type(row) for row in merged.sections][-1] == "text/markdown"


def test_two_documents_of_one_name_are_no_manifest_to_merge():
    with pytest.raises(AssertionError):
        merge(b"", manifest(ONE), manifest(ONE, source="docs/other.md"), conflicting)


def test_a_base_in_conflict_is_none():
    """As a merge of two merge bases may leave it."""
    base, _ = conflicting(b"", b"a\n", b"b\n")
    assert words(merge(base, manifest(ONE[:2]), manifest(ONE[1:]))) == [kbid_of(w) for w in ("one", "two", "three")]


def test_hand_written_toml_is_merged_too():
    ours = render_manifest(manifest(ONE)).replace('tags = ["a"]', "").replace('title = "A"', "title = 'A' # ours").encode()
    merged = merge(render_manifest(manifest(ONE[:2])).encode(), ours, manifest(ONE[:2], tier="S"))
    assert (words(merged), merged.tier) == ([kbid_of(w) for w in ("one", "two", "three")], "S")


def test_a_later_format_is_left_to_the_text_merge():
    later = render_manifest(manifest(ONE)).replace("format = 1", "format = 2").encode()
    merged = merge_manifests(b"", later, render_manifest(manifest(ONE)).encode(), conflicting)
    assert merged[1]
