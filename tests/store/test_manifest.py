import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.errors import NewerFormat
from git_kb.model.document import Manifest, SectionRow
from git_kb.store import manifest as store
from git_kb.store.manifest import DamagedManifest, parse_manifest, read_head, read_origin, render_manifest

text = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=20)
kbid = st.text(alphabet="abcdefghijklmnopqrstuvwxyz234567", min_size=26, max_size=26)
hexes = st.text(alphabet="0123456789abcdef", min_size=8, max_size=8)
count = st.integers(0, 10**7)
plain = st.one_of(
    text, st.integers(-(2**62), 2**62), st.booleans(), st.lists(text, max_size=2), st.dictionaries(text, text, max_size=2)
)
unknown = st.dictionaries(
    text.filter(lambda k: k not in store._DOCUMENT_KEYS + store._ROW_KEYS and k != "sections"), plain, max_size=2
).map(lambda d: tuple(d.items()))
rows = st.builds(
    SectionRow,
    kbid=kbid,
    chunk=hexes.map("c-".__add__),
    source_key=hexes.map(lambda h: h * 2),
    n_lines=count,
    n_bytes=count,
    heading=st.lists(text, max_size=3).map(tuple),
    type=st.sampled_from(["", "text/x-python", 'a"b']),
    role=st.sampled_from(["", "front-matter"]),
    part=st.integers(1, 99),
    supersedes=st.one_of(st.just(""), kbid),
    conflict=st.sampled_from(["", "changed", "deleted"]),
    extra=st.one_of(st.just(()), unknown),
)
manifests = st.builds(
    Manifest,
    docid=text,
    title=text,
    source=st.sampled_from(["a.md", "docs/é.md", "https://example.com/x", "bytes:%FF.md"]),
    blob=st.sampled_from(["0" * 40, "a" * 64]),
    type=st.just("text/markdown"),
    sections=st.lists(rows, max_size=4).map(tuple),
    moved_from=st.sampled_from(["", "old.md"]),
    encoding=st.sampled_from(["", "utf-16-le"]),
    language=st.sampled_from(["", "de", "gsw"]),
    tier=st.sampled_from(["", "S"]),
    tags=st.lists(text, max_size=3).map(tuple),
    extra=st.one_of(st.just(()), unknown),
)


@given(manifests)
def test_round_trip_byte_for_byte(manifest):
    written = render_manifest(manifest)
    back = parse_manifest(written, manifest.docid + ".toml")
    assert back == manifest
    assert render_manifest(back) == written


@given(manifests)
def test_the_fast_reader_and_the_toml_reader_agree(manifest):
    """What the fast path accepts, TOML reads the same way."""
    written = render_manifest(manifest)
    tomllib.loads(written)
    fast = store._parse_canonical(written)
    assert store._parse_toml(written, manifest.docid + ".toml") == manifest
    assert fast is None or fast == manifest
    if not manifest.extra and not any(r.extra or '"' in r.type for r in manifest.sections):
        assert fast == manifest


@given(manifests, st.data())
def test_edited_text_reads_as_toml_says_or_is_damaged(manifest, data):
    """A random edit never makes the fast reader accept what TOML reads differently."""
    written = render_manifest(manifest)
    at = data.draw(st.integers(0, len(written)))
    cut = data.draw(st.integers(0, 5))
    edited = (
        written[:at]
        + data.draw(st.sampled_from(["", '"', "\\", "\n", "#", "]", "[[sections]]\n", "x = 1\n", "'''"]))
        + written[at + cut :]
    )
    name = manifest.docid + ".toml"
    try:
        fast = store._parse_canonical(edited)
    except (store._WrongField, NewerFormat):
        return
    if fast is not None:
        assert fast == store._parse_toml(edited, name)


@given(manifests)
def test_a_look_at_the_head_gives_source_and_blob_or_nothing(manifest):
    written = render_manifest(manifest)
    assert read_origin(written.encode()) in ((manifest.source, manifest.blob), None)
    if not manifest.extra:
        assert read_origin(written.encode()) == (manifest.source, manifest.blob)
    assert read_origin(written.replace("format = 1", "x = '''").encode()) is None


@given(st.text(max_size=200))
def test_any_text_parses_or_is_damaged(garbage):
    with pytest.raises((DamagedManifest, NewerFormat)):
        parse_manifest(garbage, "x.toml")


GOOD = render_manifest(
    Manifest("a.md", "A", "a.md", "0" * 40, "text/markdown", (SectionRow("a" * 26, "c-00000000", "0" * 16, 1, 2, ("A",)),))
)


def test_the_reader_takes_the_fast_path_on_what_the_writer_writes():
    assert store._parse_canonical(GOOD) is not None
    assert read_head(GOOD)["blob"] == "0" * 40


def test_hand_written_toml_is_read_and_unknown_keys_are_kept():
    edited = GOOD.replace('tier = ""\n', "").replace("format = 1\n", "# by hand\nformat=1\ncolour = 'red'\n")
    manifest = parse_manifest(edited, "a.md.toml")
    assert manifest.extra == (("colour", "red"),)
    assert 'colour = "red"' in render_manifest(manifest)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("format = 1", "format = 0", "format"),
        ('docid = "a.md"', 'docid = "b.md"', "docid"),
        ('source = "a.md"', 'source = "../a.md"', "leaves the repository"),
        ('source = "a.md"', 'source = ".git/config"', "leaves the repository"),
        ('blob = "' + "0" * 40, 'blob = "zz', "blob"),
        ('blob = "' + "0" * 40 + '"\n', "", "'blob' is missing"),
        ('kbid = "' + "a" * 26, 'kbid = "' + "A" * 26, "kbid"),
        ('chunk = "c-00000000"', 'chunk = "x"', "chunk"),
        ("n_bytes = 2", "n_bytes = -2", "negative"),
        ("n_bytes = 2", 'n_bytes = "2"', "not an integer"),
        ("n_lines = 1\n", "", "'n_lines' is missing"),
        ('heading = ["A"]', "heading = [1]", "array of strings"),
        ("n_bytes = 2", 'n_bytes = 2\nconflict = "lost"', "unknown conflict"),
        ("[[sections]]", "[sections]", "array of tables"),
    ],
)
def test_each_wrong_field_is_named(old, new, message):
    assert old in GOOD
    with pytest.raises(DamagedManifest, match=message):
        parse_manifest(GOOD.replace(old, new), "a.md.toml")


def test_a_newer_format_is_refused():
    with pytest.raises(NewerFormat):
        parse_manifest(GOOD.replace("format = 1", "format = 2"), "a.md.toml")


def test_spans_are_sums():
    manifest = parse_manifest(GOOD.replace("n_bytes = 2\n", "n_bytes = 2\n" + GOOD[GOOD.index("\n[[") :]), "a.md.toml")
    assert manifest.spans() == [(1, 0, 2), (2, 2, 4)]
