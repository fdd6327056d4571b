"""One source to rows and section objects."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from git_kb.model.section import content_hash, decode_section, section_id
from git_kb.model.source import source_keys
from git_kb.store.cut import Limits, cut_source, pack_cut, pack_cuts
from git_kb.text.chunk import Unusable

LIMITS = Limits(4000, 8000)
NAMES = st.sampled_from([b"a.md", b"a.txt", b"a.rst", b"a.py", b"a.json", b"a.html", b"Makefile"])
LINES = st.lists(
    st.sampled_from(
        ["# A", "## B", "text", "", "```", "def f():", "    x", "\ufeff", "\u00ad", "\x1f", "---", "B\n=", "\x00", "Ω"]
    ),
    max_size=12,
)


@given(NAMES, LINES, st.sampled_from(["\n", "\r\n", "\r"]))
@example(b"a.md", ["\ufeff", "# A", "", "## B", "\x1f"], "\n")
def test_rows_tile_the_source_and_name_their_objects(name, lines, eol):
    data = eol.join(lines).encode()
    try:
        cut = cut_source(name, data, LIMITS)
    except Unusable:
        return
    assert sum(row.n_bytes for row in cut.rows) == len(data)
    assert {row.kbid for row in cut.rows} == set(cut.objects)
    assert [row.source_key for row in cut.rows] == source_keys(name.decode(), [row.heading for row in cut.rows])
    assert len({row.chunk for row in cut.rows}) == len(cut.rows)
    text = data.decode()
    assert sum(row.n_lines for row in cut.rows) == text.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    for row in cut.rows:
        encoded = cut.objects[row.kbid]
        section = decode_section(encoded, row.kbid)
        assert section_id(encoded) == row.kbid
        assert section.mime == (row.type or cut.source.type)
        assert row.chunk.startswith("c-" + content_hash(section.content)[:8])


@given(st.binary(max_size=300), NAMES)
def test_any_bytes_are_cut_or_refused(data, name):
    try:
        cut = cut_source(name, data, LIMITS)
    except Unusable:
        return
    assert sum(row.n_bytes for row in cut.rows) == len(data)
    packed = pack_cut(name, data, LIMITS, "sha1")
    assert (packed.rows, packed.n_sections, packed.n_bytes) == (cut.rows, cut.n_sections, cut.n_bytes)
    assert packed.rows_text == cut.rows_text


def test_a_cut_depends_on_nothing_else():
    data = b"# A\n\nText.\n\n## B\n\nMore.\n"
    assert cut_source(b"a.md", data, LIMITS) == cut_source(b"a.md", data, LIMITS)
    moved = cut_source(b"b/a.md", data, LIMITS)
    assert list(moved.objects) == list(cut_source(b"a.md", data, LIMITS).objects)


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_packed_objects_are_those_git_would_write(tmp_path, object_format):
    import zlib

    from kb import Kb

    kb = Kb.create(tmp_path / "repo", {}, object_format)
    data = b"# A\n\nText.\n\n## B\n\nMore.\n"
    packed = pack_cut(b"a.md", data, LIMITS, object_format)
    plain = cut_source(b"a.md", data, LIMITS)
    assert packed.rows == plain.rows
    for kbid, (oid, size, deflated) in packed.objects.items():
        encoded = zlib.decompress(deflated)
        assert (encoded, size) == (plain.objects[kbid], len(encoded))
        assert kb.git("hash-object", "--stdin", input=encoded) == oid


def test_a_lot_goes_on_after_a_source_that_cannot_be_used():
    results = pack_cuts(
        [(b"a.md", b"# A\n\nText.\n"), (b"e.md", b""), (b"b.bin.md", b"\x00\x01\x02\xff" * 99), (b"c.md", b"x\n")], LIMITS, "sha1"
    )
    assert [isinstance(r, str) for r in results] == [False, True, True, False]
