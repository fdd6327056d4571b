"""`git kb blame`: who last wrote each section, checked against `git blame` itself."""

import json
import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kb import GUIDE, Kb, assert_message, git

from git_kb.store.blame import Hunk, Writer, _parse, _unquoted, line_range

CHANGED = GUIDE.replace("syrup", "fondant")


def by(name, second=0):
    return {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": f"{name.lower()}@example.com",
        "GIT_AUTHOR_DATE": f"{1700000000 + second} +0530",
    }


@pytest.fixture
def kb(tmp_path):
    """The guide by Ann, one of its sections changed by Bob, ingested and committed."""
    kb = Kb.create(tmp_path / "r", {})
    kb.write("docs/guide.md", GUIDE)
    kb.write("notes.txt", "A swarm leaves in May.\n")
    kb.git("add", "-A")
    kb.git("commit", "-q", "-m", "guide", **by("Ann"))
    kb.write("docs/guide.md", CHANGED)
    kb.git("commit", "-q", "-a", "-m", "fondant", **by("Bob", 60))
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    kb.commit("knowledge base")
    return kb


def writers(kb, *args):
    """Return heading -> authors (None: not committed), newest first, of the sections of one document."""
    (document,) = kb.json("blame", *args)["documents"]
    return {s["heading"][-1]: [c.get("author") for c in s["commits"]] for s in document["sections"]}


def test_text(kb):
    out = kb.ok("blame", "docs/guide.md").splitlines()
    oid = kb.git("rev-parse", "HEAD~1")[:9]
    assert re.fullmatch(
        rf"{oid} \(Bob 2023-11-15 03:44:20 \+0530\) docs/guide.md:9-11  c-[0-9a-f]{{8}}  Guide > Feed the colony  and 1 older",
        out[2],
    )
    assert [line.split()[1] for line in out] == ["(Ann", "(Ann", "(Bob"]
    more = kb.ok("blame", "-v", "docs--guide.md").splitlines()
    assert more[:2] == out[:2]
    assert more[3].endswith(")   2 of these lines")


@pytest.mark.parametrize("name", ["docs/guide.md#feed-the-colony", "docs/guide.md:10", "docs--guide.md", "docs/guide.md"])
def test_names(kb, name):
    assert writers(kb, name)["Feed the colony"] == ["Bob", "Ann"]


def test_the_lines_are_those_of_git_blame(kb):
    (document,) = kb.json("blame", "docs/guide.md")["documents"]
    told = {n: h["oid"] for s in document["sections"] for h in s["hunks"] for n in range(h["line"], h["last_line"] + 1)}
    rows = kb.git("blame", "-l", "-s", "--root", "docs/guide.md").splitlines()
    assert all(rows[n - 1].startswith(oid) for n, oid in told.items())
    # The blank lines between sections belong to none.
    assert [n for n in range(1, 12) if n not in told] == [4, 8]
    assert document["start"] == kb.git("rev-parse", "HEAD")


def test_lines_hold_where_the_file_has_changed_since(kb):
    kb.write("docs/guide.md", "new first line\n\n" + CHANGED)
    assert writers(kb, "docs/guide.md")["Feed the colony"] == ["Bob", "Ann"]
    kb.git("commit", "-q", "-a", "-m", "later", **by("Eve"))
    assert writers(kb, "docs/guide.md")["Feed the colony"] == ["Bob", "Ann"]
    # As of a commit in which it is outdated, too: by the commit that has what was ingested.
    assert writers(kb, "--at", "HEAD", "docs/guide.md")["Feed the colony"] == ["Bob", "Ann"]
    os.unlink(kb.path("docs/guide.md"))
    assert writers(kb, "docs/guide.md")["Feed the colony"] == ["Bob", "Ann"]


def test_what_is_not_committed(kb):
    kb.write("docs/guide.md", CHANGED.replace("south", "east"))
    kb.write("new.md", "# New\n\nText.\n")
    kb.ok("ingest", "-q")
    assert writers(kb, "docs/guide.md") == {"Guide": ["Ann"], "Install the hive": [None, "Ann"], "Feed the colony": ["Bob", "Ann"]}
    assert "000000000 (not committed" in kb.ok("blame", "docs/guide.md")
    assert writers(kb, "new.md") == {"New": [None]}
    kb.git("add", "new.md")
    assert writers(kb, "--cached", "docs/guide.md")["Install the hive"] == ["Ann"]
    assert writers(kb, "new.md") == {"New": [None]}


def test_before_the_first_commit(tmp_path):
    kb = Kb.create(tmp_path / "young", {})
    kb.write("a.md", "# A\n\nText")
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    assert writers(kb, "a.md") == {"A": [None]}


@pytest.mark.parametrize("name", ["manual.md", 'd/ä"\n\\.md', "-x.md", ":(glob)x.md"])
def test_a_moved_file_is_followed(kb, name):
    os.makedirs(os.path.dirname(kb.path(name)), exist_ok=True)
    kb.git("mv", "docs/guide.md", f"./{name}")
    kb.ok("ingest", "-q", "--prune")
    (document,) = kb.json("blame", f"./{name}")["documents"]
    assert [c["author"] for c in document["sections"][2]["commits"]] == ["Bob", "Ann"]
    assert document["sections"][0]["commits"][0]["source"] == "docs/guide.md"
    kb.commit("moved")
    (document,) = kb.json("blame", "--at", "HEAD", f"./{name}")["documents"]
    assert [c["author"] for c in document["sections"][2]["commits"]] == ["Bob", "Ann"]
    kb.write("other", "x")
    kb.git("mv", f"./{name}", "back.md")
    kb.write("back.md", kb.read("back.md").replace(b"Guide", b"Manual"))
    kb.git("commit", "-q", "-a", "-m", "again", **by("Eve"))
    kb.ok("ingest", "-q", "--prune")
    (document,) = kb.json("blame", "back.md")["documents"]
    assert [(c["author"], c["source"]) for c in document["sections"][0]["commits"]] == [
        ("Eve", "back.md"),
        ("Ann", "docs/guide.md"),
    ]


def test_at_an_earlier_revision(kb):
    kb.git("tag", "v1")
    kb.write("docs/guide.md", CHANGED.replace("honey", "sugar"))
    kb.git("commit", "-q", "-a", "-m", "sugar", **by("Eve", 120))
    kb.ok("ingest", "-q")
    kb.commit("second")
    assert writers(kb, "docs/guide.md")["Feed the colony"] == ["Eve", "Ann"]
    assert writers(kb, "--at", "v1", "docs/guide.md")["Feed the colony"] == ["Bob", "Ann"]


def test_a_shallow_clone_says_where_history_ends(kb, tmp_path):
    assert not any(c["boundary"] for s in kb.json("blame", "docs/guide.md")["documents"][0]["sections"] for c in s["commits"])
    git("clone", "-q", "--depth=2", f"file://{kb.top}", str(tmp_path / "shallow"), cwd="/")
    shallow = Kb(tmp_path / "shallow")
    done = shallow.run("blame", "docs/guide.md")
    assert done.code == 0
    assert all(line.startswith("^") for line in done.out.splitlines())
    assert "'git fetch --unshallow' brings the rest" in done.err
    assert all(c["boundary"] for s in shallow.json("blame", "docs/guide.md")["documents"][0]["sections"] for c in s["commits"])


def test_ranges_of_lines(kb):
    def ranges(text):
        return [(s["line"], s["last_line"]) for s in kb.json("blame", "-L", text, "docs/guide.md")["documents"][0]["sections"]]

    assert ranges("1,6") == [(1, 3), (5, 6)]
    assert ranges("6,+4") == [(6, 7), (9, 9)]
    assert ranges("10") == [(10, 10)]
    done = kb.run("blame", "-L", "90,99", "docs/guide.md")
    assert (done.code, done.out) == (1, "")
    for wrong in ("0", "5,3", "a", "1,2,3", "/x/", "3,+0"):
        assert kb.run("blame", "-L", wrong, "docs/guide.md").code == 129, wrong


def test_what_cannot_be_blamed(kb):
    assert kb.run("blame", "nope").code == 1
    assert_message(kb.run("blame", "--at", "HEAD^{tree}", "docs/guide.md"), 128, "tree")
    kb.write("notes.txt", "Never committed.\n")
    kb.ok("ingest", "-q")
    kb.git("add", "kb")
    kb.git("commit", "-q", "-m", "manifest alone")
    assert_message(kb.run("blame", "--at", "HEAD", "notes.txt"), 128, "no commit up to 'HEAD' has it")
    kb.write("notes.txt", "Something else.\n")
    assert_message(kb.run("blame", "notes.txt"), 128, "nowhere any more", "git kb ingest")


def test_textconv_and_settings_do_not_move_lines(kb):
    kb.write(".git/info/attributes", "*.md diff=odd\n")
    kb.git("config", "diff.odd.textconv", "tac")
    kb.git("config", "blame.showEmail", "true")
    kb.git("config", "blame.coloring", "highlightRecent")
    kb.git("config", "color.ui", "always")
    assert writers(kb, "docs/guide.md")["Feed the colony"] == ["Bob", "Ann"]


@pytest.mark.parametrize("eol", [b"\r\n", b"\n"])
def test_line_ends_and_encodings(tmp_path, eol):
    kb = Kb.create(tmp_path / "r", {})
    kb.write("a.md", GUIDE.encode().replace(b"\n", eol))
    kb.write("b.txt", "Zwölf Bienen.\n\nViele Wörter.\n".encode("utf-16"))
    kb.git("add", "-A")
    kb.git("commit", "-q", "-m", "all", **by("Ann"))
    kb.write("a.md", CHANGED.encode().replace(b"\n", eol))
    kb.git("commit", "-q", "-a", "-m", "all", **by("Bob", 60))
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    assert list(writers(kb, "a.md").values()) == [["Ann"], ["Ann"], ["Bob", "Ann"]]
    (document,) = kb.json("blame", "b.txt")["documents"]
    assert [c["author"] for s in document["sections"] for c in s["commits"]] == ["Ann"]


def test_names_of_people_are_safe(kb):
    kb.write("notes.txt", "A swarm \x1b[2J leaves.\n")
    kb.git("commit", "-q", "-a", "-m", "\x1b[2J", **by("E\x1b[2Jve"))
    kb.ok("ingest", "-q")
    assert "\x1b" not in kb.ok("blame", "notes.txt")
    assert "\x1b" not in kb.ok("blame", "--json", "notes.txt")
    json.loads(kb.ok("blame", "--json", "notes.txt"))


@given(st.lists(st.sampled_from([b"x", b" ", b"\n", b"\r\n"]), max_size=20).map(b"".join), st.data())
def test_line_range(data, draw):
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    first, last = line_range(data, start, end)
    assert 1 <= first <= last <= data.count(b"\n") + 1
    if data[start:end].strip():
        lines = data.split(b"\n")
        inside = [n for n in range(1, len(lines) + 1) if _has_text(lines, n, start, end)]
        assert (first, last) == (inside[0], inside[-1])


def _has_text(lines, number, start, end):
    at = sum(len(line) + 1 for line in lines[: number - 1])
    return any(start <= at + i < end and not bytes([b]).isspace() for i, b in enumerate(lines[number - 1]))


@given(st.binary())
def test_any_path_is_unquoted(path):
    quoted = b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"'
    assert _unquoted(quoted) == path
    assert _unquoted(b'"a\\tb\\\\\\"\\303"') == b'a\tb\\"\xc3'


def test_porcelain_is_read():
    out = (
        b"%(a)s 1 1 2\nauthor A\nauthor-mail <a@x>\nauthor-time 5\nauthor-tz +0100\nsummary s\nboundary\nfilename old\n\tone\n"
        b"%(a)s 2 2\n\ttwo\n%(z)s 3 3 1\nauthor Not Committed Yet\nfilename new\n\t\n%(a)s 9 4 1\nfilename other\n\tx\n"
    ) % {b"a": b"a" * 40, b"z": b"0" * 40}
    a = Writer("a" * 40, "A", "a@x", 5, "+0100", "s", b"old")
    assert _parse(out, frozenset()) == [
        Hunk(1, 2, a),
        Hunk(3, 3, Writer("", "", "", 0, "+0000", "", b"new")),
        Hunk(4, 4, a._replace(path=b"other")),
    ]
    assert _parse(out, frozenset(["a" * 40]))[0].writer.is_boundary
