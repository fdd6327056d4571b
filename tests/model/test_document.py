from hypothesis import given
from hypothesis import strategies as st

from git_kb.model.document import MAX_DOCID_BYTES, docid_of_path
from git_kb.model.source import source_keys

name = st.text(alphabet=st.sampled_from("aAb-_.~ é日\u0301:c+"), min_size=1, max_size=6).filter(lambda n: n not in (".", ".."))
below = st.sampled_from(["", "", "stdin/", "kb/raw/", "kb/raw/stdin/", "raw/stdin/"])
path = st.builds(str.__add__, below, st.lists(name, min_size=1, max_size=4).map("/".join))


def test_plain_paths_read_well():
    assert docid_of_path(b"docs/README.md") == "docs--README.md"
    assert docid_of_path(b"a.md") == "a.md"
    assert docid_of_path(b"kb/raw/stdin/wax.md") == "stdin--wax.md"
    assert docid_of_path("日本語/ノート.md".encode()) == "日本語--ノート.md"


@given(st.lists(path, unique=True, min_size=2, max_size=30))
def test_two_paths_never_share_a_docid(paths):
    ids = [docid_of_path(p.encode()) for p in paths]
    assert len(set(ids)) == len(paths)


def test_the_classic_clashes_are_told_apart():
    paths = [
        b"docs/a/b.md",
        b"docs/a--b.md",
        b"docs--a/b.md",
        b"a-/b",
        b"a/-b",
        b"a b",
        b"a_b",
        b"A b",
        b"a-b",
        b"url/x",
        b"kb/raw/stdin/a.md",
        b"stdin/a.md",
        b"stdin--a.md",
        b"kb/raw/stdin",
        b"stdin",
        b"x" * 300,
        b"x" * 301,
    ]
    assert len({docid_of_path(p) for p in paths}) == len(paths)


@given(st.binary(min_size=1, max_size=400).filter(lambda b: b"\0" not in b))
def test_a_docid_is_a_safe_file_name(raw):
    docid = docid_of_path(raw)
    assert 0 < len(docid.encode()) <= MAX_DOCID_BYTES
    assert not set(docid) & set('/\\:*?"<>|\n\0 ')
    assert docid not in (".", "..")
    assert not docid.startswith("-")


@given(st.lists(st.lists(st.sampled_from(["", "A", "B", "A\0B", "#2"]), max_size=3).map(tuple), max_size=30))
def test_source_keys_are_unique_and_stable_under_appending(headings):
    keys = source_keys("docs/a.md", headings)
    assert len(set(keys)) == len(keys)
    assert source_keys("docs/a.md", [*headings, ("Z",)])[: len(keys)] == keys


def test_a_unique_heading_has_the_seed_key():
    from hashlib import sha256

    assert source_keys("docs/a.md", [("Guide", "Install")]) == [sha256(b"docs/a.md\0Install").hexdigest()[:16]]
