"""What an id names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kb import GUIDE, Kb

from git_kb.model.section import KBID_ALPHABET, kbid_bounds, kbid_bytes, kbid_text
from git_kb.output.show import AmbiguousId, UnknownDocument, UnknownId, resolve_id
from git_kb.store.viewfile import current_view


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo", {"docs/guide.md": GUIDE, "docs/guild.md": "# Guild\n\nOf bees.\n", "copy.md": GUIDE})


@pytest.fixture
def view(kb):
    opened = current_view(kb.place())
    assert opened is not None
    return opened[0]


def test_documents(view):
    for name in ("docs--guide.md", "docs/guide.md", "docs--guide.md.toml", "docs--guide", "docs--guid" + "e"):
        assert resolve_id(view, name).docid == "docs--guide.md"
    with pytest.raises(AmbiguousId) as caught:
        resolve_id(view, "docs--gui")
    assert caught.value.candidates == ["docs--guide.md", "docs--guild.md"]
    for name in ("nope", "d", "", "docs--guide.mdx", "#", "##", "a#b#c"):
        with pytest.raises((UnknownId, UnknownDocument)):
            resolve_id(view, name)


def test_citations(view, kb):
    citation = kb.ok("ls-sections", "--format", "{citation}", "docs--guide.md").splitlines()[1]
    (place,) = resolve_id(view, citation)
    assert place.citation == citation
    docid, _, chunk = citation.partition("#")
    for name in (f"{docid}#{chunk[:6]}", f"docs--guide#{chunk}"):
        assert resolve_id(view, name)[0].citation == citation
    with pytest.raises(UnknownId):
        resolve_id(view, f"{docid}#c-00000000")
    with pytest.raises(UnknownId):
        resolve_id(view, f"{docid}#c-")
    with pytest.raises(UnknownDocument):
        resolve_id(view, f"nope#{chunk}")
    with pytest.raises(AmbiguousId):
        resolve_id(view, f"docs--gui#{chunk}")


def test_sections(view, kb):
    """A kbid names the section wherever it stands."""
    kbid = kb.ok("ls-sections", "--format", "{kbid}", "docs--guide.md").splitlines()[1]
    for n in (4, 5, 10, 25, 26):
        places = resolve_id(view, kbid[:n])
        assert [p.document.docid for p in places] == ["copy.md", "docs--guide.md"]
        assert {p.kbid for p in places} == {kbid}
    assert resolve_id(view, kbid.upper())[0].kbid == kbid
    with pytest.raises(UnknownId):
        resolve_id(view, "a" * 26)


@given(st.binary(min_size=16, max_size=16), st.integers(4, 26))
def test_bounds_hold_exactly_the_kbids_that_begin_so(raw, length):
    kbid = kbid_text(raw)
    low, high = kbid_bounds(kbid[:length])
    assert low <= kbid_bytes(kbid) < high
    for other in (int.from_bytes(low) - 1, int.from_bytes(high)):
        if 0 <= other < 1 << 128 and len(high) == 16:
            assert not kbid_text(other.to_bytes(16)).startswith(kbid[:length])


def test_the_last_prefix():
    low, high = kbid_bounds(KBID_ALPHABET[-1] * 4)
    assert low < b"\xff" * 16 < high
