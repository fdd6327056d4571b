"""Wiki pages and index pages merged: what each zone gives, and that no line is ever lost (docs/format-page.md, format-merge.md)."""

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from git_kb.merge.page import MARKER, Page, merge_indexes, merge_pages
from git_kb.repo.mergefile import merge_file

PAGE = f"""\
---
title: Sessions
tags: [auth, web]
lifecycle: draft
aliases:
  - session
  - login
---
# Sessions

> **First seen in:** [a](../sources/a.md)
> **Also referenced by:** [b](../sources/b.md)
> **Status:** fresh

## Key Claims
- One claim — c-00000001
- Two claims — c-00000002

## Details
A paragraph on sessions.

```
# no heading
```

## Provenance
- [a.md](../sources/a.md) — c-00000001, c-00000002

{MARKER}

My note.
"""


def text_merge(base, ours, theirs):
    return merge_file(base, ours, theirs, 7)


def no_text_merge(base, ours, theirs):
    pytest.fail("text was merged")


def merge(base, ours, theirs, merge_text=no_text_merge, kind=merge_pages):
    merged, in_conflict = kind(base.encode(), ours.encode(), theirs.encode(), merge_text)
    return merged.decode(), in_conflict


def clean(base, ours, theirs, merge_text=no_text_merge, kind=merge_pages):
    merged, in_conflict = merge(base, ours, theirs, merge_text, kind)
    assert not in_conflict
    return merged


def edit(*changes):
    text = PAGE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


ONE, TWO = "- One claim — c-00000001\n", "- Two claims — c-00000002\n"


def test_the_parts_are_the_page():
    page = Page(PAGE)
    assert page.front + page.body == PAGE
    assert page.front.endswith("---\n")
    assert page.generated.startswith("# Sessions\n")
    assert page.human == "\nMy note.\n"


def test_claims_of_both_sides_ours_first():
    merged = clean(PAGE, edit((TWO, TWO + "- Ours — c-0a\n")), edit((TWO, TWO + "- Theirs — c-0b\n")))
    assert merged == edit((TWO, TWO + "- Ours — c-0a\n- Theirs — c-0b\n"))


@pytest.mark.parametrize("swap", [False, True])
def test_a_new_heading_takes_no_claim_of_the_other_side(swap):
    sides = [edit(("## Details", "## New\n- New claim — c-0a\n\n## Details")), edit((TWO, TWO + "- Theirs — c-0b\n"))]
    merged = clean(PAGE, *(reversed(sides) if swap else sides))
    assert merged == edit((TWO, TWO + "- Theirs — c-0b\n"), ("## Details", "## New\n- New claim — c-0a\n\n## Details"))


def test_a_claim_taken_back_goes_and_an_edited_one_stays():
    merged = clean(PAGE, edit((ONE, "")), edit((TWO, "- Two claims, edited — c-00000002\n")))
    assert merged == edit((ONE + TWO, "- Two claims, edited — c-00000002\n"))


def test_citations_of_one_line_are_a_set():
    merged = clean(
        PAGE,
        edit(
            ("c-00000001, c-00000002", "c-00000002, c-0a"), ("[b](../sources/b.md)", "[b](../sources/b.md), [c](../sources/c.md)")
        ),
        edit(("c-00000001, c-00000002", "c-00000001, c-00000002, c-0b"), ("[b](../sources/b.md)", "[d](../sources/d.md)")),
    )
    assert "- [a.md](../sources/a.md) — c-00000002, c-0a, c-0b\n" in merged
    assert "> **Also referenced by:** [c](../sources/c.md), [d](../sources/d.md)\n" in merged


def test_both_versions_of_what_both_changed_stand_in_order():
    merged = clean(
        PAGE,
        edit(("fresh", "stale"), ("A paragraph on", "Ours on")),
        edit(("fresh", "unverified"), ("A paragraph on", "Theirs on")),
    )
    assert "> **Status:** stale\n> **Status:** unverified\n" in merged
    assert "Ours on sessions.\n\nTheirs on sessions.\n\n```\n# no heading\n```\n" in merged


def test_another_title_is_no_other_page():
    merged = clean(PAGE, edit(("# Sessions\n", "# Login\n")), edit((TWO, TWO + "- Theirs — c-0b\n")))
    assert merged == edit(("# Sessions\n", "# Login\n"), (TWO, TWO + "- Theirs — c-0b\n"))


def test_front_matter_key_by_key():
    ours = edit(("[auth, web]", "[auth, new]"), ("lifecycle: draft", "lifecycle: reviewed"), ("  - login\n", "  - log-in\n"))
    theirs = edit(
        ("[auth, web]", "[auth, web, x]"), ("title: Sessions", "title: Log in"), ("  - session\n", "  - session\n  - y\n")
    )
    front = yaml.safe_load(Page(clean(PAGE, ours, theirs)).front.strip("-\n"))
    assert front == {
        "title": "Log in", "tags": ["auth", "new", "x"], "lifecycle": "reviewed", "aliases": ["session", "log-in", "y"],
    }  # fmt: skip


def test_a_key_that_two_people_set_is_a_conflict_of_that_line_alone():
    merged, in_conflict = merge(
        PAGE, edit(("draft", "reviewed"), (ONE, "")), edit(("draft", "verified"), ("[auth, web]", "[auth]")), text_merge
    )
    assert in_conflict
    assert "<<<<<<< ours\nlifecycle: reviewed\n=======\nlifecycle: verified\n>>>>>>> theirs\n" in merged
    assert "tags: [auth]\n" in merged
    assert ONE not in merged
    assert merged.count("<<<<<<<") == 1


def test_the_lower_confidence_stands_until_it_is_worked_out_again():
    base, ours, theirs = (edit(("lifecycle", f"confidence: {n}\nlifecycle")) for n in ("0.5", "0.75", "0.6"))
    assert "confidence: 0.6\n" in clean(base, ours, theirs)


def test_notes_are_merged_as_text():
    ours, theirs = edit(("My note.", "My note.\n\nOurs.")), edit(("My note.", "First.\n\nMy note."))
    assert clean(PAGE, ours, theirs, text_merge).endswith(f"{MARKER}\n\nFirst.\n\nMy note.\n\nOurs.\n")
    merged, in_conflict = merge(PAGE, edit(("My note.", "Ours.")), edit(("My note.", "Theirs."), (ONE, "")), text_merge)
    assert in_conflict
    assert merged.endswith(f"{MARKER}\n\n<<<<<<< ours\nOurs.\n=======\nTheirs.\n>>>>>>> theirs\n")


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_page_without_the_marker_is_all_a_persons(which):
    versions = [PAGE, edit((ONE, "- Ours — c-0a\n")), edit((TWO, "- Theirs — c-0b\n"))]
    versions[which] = versions[which].replace(MARKER + "\n", "")
    merged, in_conflict = merge(*versions, text_merge)
    assert in_conflict
    assert "- Ours — c-0a" in merged
    assert "- Theirs — c-0b" in merged


def test_the_first_marker_counts():
    page = edit(("My note.", f"{MARKER}\nMy note."))
    assert Page(page).human == f"\n{MARKER}\nMy note.\n"


def test_added_on_both_sides():
    merged, _ = merge("", edit((TWO, "")), edit((ONE, "")), text_merge)
    assert ONE in merged
    assert TWO in merged
    assert merged.count(MARKER) == merged.count("My note.") == 1


def test_no_text_at_all_is_left_to_git():
    assert merge_pages(b"", b"\xff\n", b"a\n", lambda *three: (b"".join(three), True)) == (b"\xff\na\n", True)


INDEX = "# Index\n\n## Sources\n- [a](sources/a.md) — A\n- [d](sources/d.md) — D\n\n## Concepts\n- [x](concepts/x.md) — X\n"


def test_entries_of_an_index_are_united_in_order():
    ours = INDEX.replace("- [d]", "- [c](sources/c.md) — C\n- [d]")
    theirs = INDEX.replace("- [d]", "- [b](sources/b.md) — B\n- [d]").replace("- [x](concepts/x.md) — X\n", "")
    merged = clean(INDEX, ours, theirs, kind=merge_indexes)
    assert merged == (
        "# Index\n\n## Sources\n- [a](sources/a.md) — A\n- [b](sources/b.md) — B\n- [c](sources/c.md) — C\n- [d](sources/d.md) — D\n\n"
        "## Concepts\n"
    )
    assert merged == clean(INDEX, theirs, ours, kind=merge_indexes)


claims = st.lists(st.sampled_from([f"- claim {n} — c-{n:08x}" for n in range(8)] + ["A paragraph.", "> a quote"]), max_size=5)
notes = st.lists(st.sampled_from(["note", "* bullet", "## Mine", "", MARKER, "<<<<<<< x"]), max_size=4)
heads = st.lists(st.sampled_from(["A", "B", "C"]), max_size=3, unique=True)
front = st.dictionaries(st.sampled_from(["tags", "sources"]), st.lists(st.sampled_from("abcd"), unique=True, max_size=3))


@st.composite
def pages(draw):
    fields = "".join(f"{key}: [{', '.join(values)}]\n" for key, values in draw(front).items())
    text = f"---\n{fields}---\n# T\n\n"
    for head in draw(heads):
        text += f"## {head}\n\n" + "".join(claim + "\n\n" * (claim[0] == "A") for claim in draw(claims)) + "\n"
    return f"{text}{MARKER}\n" + "".join(note + "\n" for note in draw(notes))


@given(pages(), pages(), pages())
def test_no_line_is_lost(base, ours, theirs):
    merged, in_conflict = merge(
        base, ours, theirs, lambda b, o, t: (b"<<<<<<< ours\n" + o + b"=======\n" + t + b">>>>>>> theirs\n", True)
    )
    lines, before = set(merged.split("\n")), Page(base)
    for side in map(Page, (ours, theirs)):
        assert lines >= set(side.generated.split("\n")) - set(before.generated.split("\n"))
        assert lines >= set(side.human.split("\n")) - set(before.human.split("\n"))
    if not in_conflict:
        assert Page(merged).marker
        yaml.safe_load(Page(merged).front.strip("-\n"))


@given(pages(), pages(), pages())
def test_swapped_sides_give_the_same_but_for_the_order(base, ours, theirs):
    one, conflict = merge(base, ours, theirs, lambda b, o, t: (min(o, t) + max(o, t), True))
    other, swapped = merge(base, theirs, ours, lambda b, o, t: (min(o, t) + max(o, t), True))
    assert conflict == swapped

    assert sorted(re.findall(r"[^\s,\[\]]+", one)) == sorted(re.findall(r"[^\s,\[\]]+", other))


@pytest.mark.parametrize("kind", [merge_pages, merge_indexes])
@given(base=pages(), ours=pages())
def test_what_one_side_left_alone_is_as_the_other_has_it(kind, base, ours):
    assert clean(base, ours, base, kind=kind) == clean(base, base, ours, kind=kind) == clean(base, ours, ours, kind=kind) == ours


@given(pages(), pages(), pages())
def test_merged_again_nothing_is_added(base, ours, theirs):
    merged, in_conflict = merge(base, ours, theirs, lambda b, o, t: (o + t, True))
    if not in_conflict:
        again, _ = merge(theirs, merged, theirs)
        assert again == merged


@given(*[st.text(st.sampled_from("#->-*` \nab:c\r" + "é"), max_size=80)] * 3)
def test_any_text_merges(base, ours, theirs):
    """With the marker after it; whatever stands before it, a line that a side added is there afterwards."""
    versions = [f"{text}\n{MARKER}\nn\n" for text in (base, ours, theirs)]
    merged, _ = merge(*versions, lambda b, o, t: (o + t, True))
    lines = {line.rstrip() for line in merged.split("\n")}
    for side in (ours, theirs):
        assert lines >= {line.rstrip() for line in side.split("\n")} - {line.rstrip() for line in base.split("\n")}
