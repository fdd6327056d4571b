"""The catalog: which are refused, and by which commands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kb import Kb

from git_kb.errors import NewerFormat
from git_kb.store.catalog import DamagedCatalog, check_catalog

NEWER = b'# A later one.\nformat = 99\nname = "x"\n'
DAMAGED = {
    b"": "'format' is missing",
    b'name = "x"\n': "'format' is missing",
    b"# only a comment\n": "'format' is missing",
    b"junk\n": "it is not TOML: ",
    b"\xff\xfe": "it is not UTF-8 (byte 0)",
    b'format = "1"\n': "'format' is not 1",
    b"format = 0\n": "'format' is not 1",
    b"format = true\n": "'format' is not 1",
    b"<<<<<<< ours\nformat = 1\n": "it has merge conflict markers",
    b"format = 1\n" + b"#" * 20000: "it has 20011 bytes",
    b"x = " + b"[" * 9000: "it is not TOML: ",
}


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


@pytest.mark.parametrize(
    "data",
    [
        b"format = 1\n",
        b'\xef\xbb\xbf# c\r\nformat = 1\r\nname = "n"\r\n',
        b"name = 'n' # c\nformat=1",
        b'format = 1\n[later]\nkey = "kept"\n',
    ],
)
def test_catalogs_of_format_1(data):
    check_catalog(data)


@pytest.mark.parametrize(("data", "why"), DAMAGED.items(), ids=range(len(DAMAGED)))
def test_damaged_catalogs(data, why):
    with pytest.raises(DamagedCatalog) as caught:
        check_catalog(data)
    assert caught.value.why.startswith(why)


@pytest.mark.parametrize("data", [NEWER, b"format=2", b"format = 2\n[new]\n"])
def test_later_formats(data):
    with pytest.raises(NewerFormat):
        check_catalog(data)


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda t: ("format = 1\n" + t).encode("utf-8", "replace")))
def test_any_bytes_pass_or_are_named(data):
    try:
        check_catalog(data)
    except (DamagedCatalog, NewerFormat):
        pass


COMMANDS = (["ingest"], ["search", "--json", "swarm"], ["status"], ["ls-documents"], ["init"])
SAYS = {NEWER: "fatal: 'kb/catalog.toml' has format 99, which this git-kb does not know\nhint: upgrade git-kb to read it\n"} | {
    data: f"fatal: 'kb/catalog.toml' is damaged: {why}\nhint: restore the file from git; moved away, 'git kb init' writes a fresh one\n"
    for data, why in list(DAMAGED.items())[:1]
}


@pytest.mark.parametrize("data", SAYS, ids=["newer", "empty"])
def test_commands_refuse_it_and_fsck_reports_it(kb, data):
    kb.write("kb/catalog.toml", data)
    before = kb.read("kb/documents/notes.txt.toml")
    kb.write("notes.txt", "Another text.\n")
    for command in COMMANDS:
        done = kb.run(*command)
        assert (done.code, done.out, done.err) == (128, "", SAYS[data])
    assert kb.read("kb/documents/notes.txt.toml") == before
    done = kb.run("fsck")
    assert done.code == 1
    assert done.out.startswith("damaged_catalog kb/catalog.toml: 'kb/catalog.toml' ")
    assert "checked 6 sections, 3 documents" in done.err
    # What is committed is another catalog, until this one is.
    for state in (["--at", "HEAD"], ["--cached"]):
        assert kb.run("status", *state).code == 0
    kb.git("add", "-A")
    assert kb.run("status", "--cached").err == SAYS[data]
    kb.commit()
    assert kb.run("status", "--at", "HEAD").err == SAYS[data]
    assert kb.run("fsck", "--at", "HEAD").code == 1


def test_an_index_without_a_catalog_is_no_knowledge_base(kb):
    kb.git("rm", "-q", "--cached", "kb/catalog.toml")
    assert "no knowledge base in the index ('kb/catalog.toml' is missing)" in kb.run("status", "--cached").err
