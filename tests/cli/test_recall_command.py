"""`git kb recall` on real repositories."""

import json
import os

import pytest
from kb import Kb, forget_source, needs_obedience, process
from odd import put_in_the_way

FILES = {
    "README.md": "# Top\n\nSee [the guide](docs/guide.md), [how to install](docs/guide.md#install-it) and [nothing](docs/gone.md).\n",
    "docs/guide.md": "# Guide\n\n" + "Bees are kept in hives. " * 20 + "Ask [the top](../README.md). " + "Hives hold bees. " * 20
    + "\n\n## Install it\n\nSet the hive down. [Site](https://example.com/).\n",
    "docs/alone.md": "# Alone\n\nNothing refers to this.\n",
}  # fmt: skip


@pytest.fixture
def kb(tmp_path):
    kb = Kb.ready(tmp_path / "repo", FILES)
    assert "finding the references of" in kb.run("recall", "README.md").err
    return kb


def out_and_in(kb, *args, **more):
    data = kb.json("recall", *args, **more)
    return tuple(
        [(r["source"], r["line"], r["target_source"], r["target_line"]) for r in data[d]["results"]] for d in ("out", "in")
    )


def test_both_directions_with_place_and_context(kb):
    found = kb.json("recall", "docs/guide.md")
    assert (found["kind"], found["docid"], found["out"]["total"], found["in"]["total"]) == ("document", "docs--guide.md", 1, 2)
    (one,) = found["out"]["results"]
    assert (one["direction"], one["marker_type"], one["target_id"], one["state"]) == (
        "forward",
        "markdown",
        "README.md",
        "resolved",
    )
    assert (one["source"], one["line"]) == ("docs/guide.md", 3)
    assert "Ask [the top](../README.md)." in one["context_snippet"]
    assert 120 < len(one["context_snippet"]) <= 154
    whole, part = found["in"]["results"]
    assert (whole["direction"], whole["target_id"], whole["line"]) == ("back", "docs--guide.md", 3)
    assert part["target_heading"] == ["Guide", "Install it"]
    text = kb.ok("recall", "docs/guide.md")
    assert "refers to: 1\n" in text
    assert "referred to by: 2\n" in text
    assert "docs/guide.md:3 -> README.md" in text


def test_ids_of_all_kinds(kb):
    row = next(r for r in map(json.loads, kb.ok("ls-sections", "--json").splitlines()) if r["heading"][-1:] == ["Install it"])
    line = row["line"]
    section = ([], [("README.md", 3, "docs/guide.md", line)])
    for name in (row["kbid"], row["kbid"][:8], row["citation"], "docs/guide.md#install-it", f"docs/guide.md:{line + 1}"):
        assert out_and_in(kb, name) == section, name
    assert out_and_in(kb, "guide.md#install-it", cwd="docs") == section
    assert out_and_in(kb, "docs--guide.md") == out_and_in(kb, "docs/guide.md") == out_and_in(kb, "guide.md", cwd="docs")


def test_a_reference_that_leads_nowhere_is_listed(kb):
    assert "README.md:3 -> docs/gone.md (leads nowhere)" in kb.ok("recall", "README.md")
    kb.write("docs/gone.md", "# Here again\n")
    kb.ok("ingest", "-q")
    assert "leads nowhere" not in kb.ok("recall", "README.md")
    assert len(out_and_in(kb, "docs/gone.md")[1]) == 1


def test_what_a_label_leads_to_is_shown(tmp_path):
    text = "# A\n\n[Nowhere][], [here], [text] and [out].\n\n[Nowhere]: gone.md\n[here]: b.md\n[out]: https://example.org/\n"
    kb = Kb.create(tmp_path / "r", {"a.md": text, "b.md": "# B\n"})
    kb.ok("init")
    kb.ok("ingest")
    shown = kb.ok("recall", "--external", "a.md")
    assert "a.md:3 -> gone.md (leads nowhere)" in shown
    assert "a.md:3 -> b.md" in shown
    assert "a.md:3 -> https://example.org/ (not in the knowledge base)" in shown
    found = kb.json("recall", "--external", "a.md")["out"]["results"]
    assert [one["destination"] for one in found] == ["gone.md", "b.md", "https://example.org/"]


def test_links_to_other_sites_on_request(kb):
    assert kb.json("recall", "docs/guide.md")["out"]["total"] == 1
    states = [r["state"] for r in kb.json("recall", "--external", "docs/guide.md")["out"]["results"]]
    assert states == ["resolved", "external"]


def test_pages_and_directions(kb):
    done = kb.run("recall", "--limit", "1", "--direction", "out", "README.md")
    assert done.out.count("->") == 1
    assert "2 more out of it; --limit and --offset show them" in done.err
    assert "referred to by" not in done.out
    assert kb.ok("recall", "--offset", "2", "--direction", "out", "README.md").count("->") == 1
    assert kb.run("recall", "-q", "--limit", "1", "README.md").err == ""
    pages = [kb.json("recall", "--limit", "1", "--offset", str(n), "README.md")["out"]["results"] for n in range(3)]
    assert [one for page in pages for one in page] == kb.json("recall", "README.md")["out"]["results"]


def test_exit_codes(kb):
    assert kb.run("recall", "docs/alone.md").code == 1
    assert kb.run("recall", "docs/alone.md").out.endswith("refers to: nothing\nreferred to by: nothing\n")
    assert kb.run("recall", "--offset", "9", "README.md").code == 1
    for name in (
        "nope",
        "docs/guide.md#nope",
        "docs/guide.md:x",
        "nope.md:3",
        "README.md#c-00000000",
        "",
        "#",
        ":",
        "..",
        "/",
        "\0x",
    ):
        done = kb.run("recall", name)
        assert (done.code, done.out) == (1, ""), name
        assert any(why in done.err for why in ("nothing is called", "no document", "no section")), done.err
    for arguments in ([], ["--limit", "0", "x"], ["--offset", "-1", "x"], ["--direction", "up", "x"], ["a", "b"]):
        assert kb.run("recall", *arguments).code == 129
    assert kb.run("recall", "--at", "nope", "README.md").code == 128


def test_at_a_revision_and_staged(kb):
    kb.git("tag", "before")
    kb.write("docs/alone.md", "# Alone\n\n[up](../README.md)\n")
    kb.ok("ingest", "-q")
    assert len(out_and_in(kb, "README.md")[1]) == 2
    assert len(out_and_in(kb, "--at", "before", "README.md")[1]) == 1
    assert len(out_and_in(kb, "--cached", "README.md")[1]) == 1
    kb.git("add", "-A")
    assert len(out_and_in(kb, "--cached", "README.md")[1]) == 2


def cache(kb):
    return sorted(path for path in kb.kb_files() if path.startswith("references/"))


def test_recall_finds_the_references_that_are_missing(kb):
    expected = out_and_in(kb, "docs/guide.md")
    assert cache(kb)
    assert "finding" not in kb.run("recall", "docs/guide.md").err
    kb.write("docs/more.md", "# More\n\nSee [the guide](guide.md).\n")
    kb.ok("ingest", "docs/more.md")
    assert "finding the references of 1 section\n" in kb.run("recall", "docs/guide.md").err
    expected[1].append(("docs/more.md", 3, "docs/guide.md", None))
    assert out_and_in(kb, "docs/guide.md") == expected
    for path in cache(kb):
        os.unlink(kb.path(f".git/kb/{path}"))
    done = kb.run("recall", "docs/guide.md")
    assert "finding the references of 5 sections\n" in done.err
    assert out_and_in(kb, "docs/guide.md") == expected
    assert "finding" not in kb.run("recall", "docs/guide.md").err


@pytest.mark.parametrize("backend", ["pygit2", "dulwich"])
def test_a_clone_without_pool_and_cache_finds_the_same(kb, tmp_path, backend):
    expected = out_and_in(kb, "docs/guide.md")
    kb.git("clone", "-q", ".", str(tmp_path / "clone"))
    assert out_and_in(Kb(tmp_path / "clone"), "docs/guide.md", GIT_KB_BACKEND=backend) == expected


DAMAGE = {
    "cut": lambda data: data[:5000],
    "empty": lambda data: b"",
    "junk": lambda data: b"junk" * 3000,
    "flipped": lambda data: data[:4200] + bytes([data[4200] ^ 255]) + data[4201:],
    "newer": lambda data: data[:8] + b"\xff\0\0\0" + data[12:],
}


@pytest.mark.parametrize("how", DAMAGE)
def test_damaged_files_are_made_again(kb, how):
    expected = out_and_in(kb, "docs/guide.md")
    for path in cache(kb):
        kb.write(f".git/kb/{path}", DAMAGE[how](kb.read(f".git/kb/{path}")))
    assert out_and_in(kb, "docs/guide.md") == expected
    kb.write("docs/alone.md", "# More\n\n[x](guide.md)\n")
    assert kb.run("ingest").code == 0
    done = kb.run("recall", "docs/guide.md")
    assert (done.code, done.err) == (0, "finding the references of 1 section\n")
    assert not [p for p in kb.kb_files() if "broken" in p]


@pytest.mark.parametrize("odd", ["file", "pipe below", "directory below"])
def test_what_is_in_the_way_is_moved_aside(kb, odd):
    expected = out_and_in(kb, "docs/guide.md")
    for path in cache(kb):
        os.unlink(kb.path(f".git/kb/{path}"))
    put_in_the_way(kb, "references", "ref-00.kbr", odd)
    done = kb.run("recall", "docs/guide.md")
    assert done.code == 0
    assert "it is now" in done.err
    assert out_and_in(kb, "docs/guide.md") == expected


@needs_obedience
def test_where_nothing_may_be_written_recall_answers(kb):
    expected = kb.ok("recall", "docs/guide.md")
    for path in cache(kb):
        os.unlink(kb.path(f".git/kb/{path}"))
    for top, _, _ in os.walk(kb.path(".git/kb").decode()):
        os.chmod(top, 0o555)
    done = process(kb.top, "recall", "docs/guide.md", obey=True)
    for top, _, _ in os.walk(kb.path(".git/kb").decode()):
        os.chmod(top, 0o755)
    assert (done.code, done.out) == (0, expected)
    assert "for this command alone" in done.err


def test_a_section_that_cannot_be_had_has_no_context(kb):
    kb.git("update-ref", "-d", "refs/kb/sections")
    forget_source(kb, "README.md")
    done = kb.run("recall", "--json", "docs/guide.md")
    assert done.code == 0
    contexts = [r["context_snippet"] for r in json.loads(done.out)["in"]["results"]]
    assert contexts == ["", ""]


def test_control_characters_do_not_reach_the_terminal(tmp_path):
    kb = Kb.ready(tmp_path / "r", {"a.md": "# A\x1b[31m\n\n[x](b\x1b[2Jc.md) \x1b[1m\n", "b.md": "# B\n"})
    for done in (kb.run("recall", "a.md"), kb.run("recall", "b\x1b[2J")):
        assert "\x1b" not in done.out + done.err


def test_rebuilding_drops_the_cache(kb):
    assert cache(kb)
    kb.ok("index", "-q", "--rebuild")
    assert not cache(kb)
    assert kb.run("recall", "docs/guide.md").code == 0
