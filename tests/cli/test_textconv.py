"""What plain git shows of the knowledge base: with nothing set up, and with what docs/history.md says can be set up."""

import os
import shutil
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kb import GUIDE, ROOT, Kb, in_process

MANIFEST = "kb/documents/docs--guide.md.toml"


@pytest.fixture
def kb(tmp_path):
    kb = Kb.ready(tmp_path / "r")
    kb.write("docs/guide.md", GUIDE.replace("syrup", "fondant"))
    kb.ok("ingest", "-q")
    return kb


def test_a_plain_diff_names_the_section(kb):
    diff = kb.git("diff", "--", MANIFEST)
    assert ' heading = ["Guide", "Feed the colony"]\n' in diff
    assert "Install the hive" not in diff
    # Nothing that diff uses is configured.
    assert kb.git("config", "--get-regexp", r"^(diff|filter)\..*", check=False) == ""
    assert kb.git("check-attr", "diff", "linguist-generated", "--", MANIFEST).splitlines() == [
        f"{MANIFEST}: diff: unspecified",
        f"{MANIFEST}: linguist-generated: set",
    ]


def test_hunk_headers_as_documented(kb):
    kb.write(".git/info/attributes", "kb/documents/*.toml diff=kb\n")
    kb.git("config", "diff.kb.xfuncname", "^heading = (.*)$")
    assert '@@ ["Guide", "Install the hive"]' in kb.git("diff", "-U1", "--", MANIFEST)


def test_textconv_as_documented(kb, tmp_path):
    program = tmp_path / "git-kb"
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m git_kb "$@"\n')
    program.chmod(0o755)
    kb.write(".git/info/attributes", "kb/documents/*.toml diff=kb\n")
    kb.git("config", "diff.kb.textconv", "git-kb textconv")
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    assert shutil.which("git-kb", path=path) == str(program)
    lines = [line for line in kb.git("diff", "-U0", "--", MANIFEST, PATH=path).splitlines() if line[:1] in "+-"]
    assert [line[:25] for line in lines[2:]] == ["-Guide > Feed the colony ", "+Guide > Feed the colony "]


def test_what_is_no_manifest_is_left_as_it_is(kb):
    assert kb.ok("textconv", "docs/guide.md") == kb.read("docs/guide.md").decode()
    kb.write("odd", "a\x00\udcff".encode("utf-8", "surrogateescape"))
    assert kb.ok("textconv", "odd") == "a\x00\udcff"
    assert kb.run("textconv", "nope").code == 128


@given(
    st.one_of(
        st.binary(max_size=200), st.text(max_size=200).map(lambda t: f'format = 1\ndocid = "a"\n{t}'.encode("utf-8", "replace"))
    )
)
def test_any_bytes(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(data)
    done = in_process("/", "textconv", str(path))
    assert (done.code, done.err) == (0, "")
    assert done.out.encode("utf-8", "surrogateescape") == data
