"""What people type from habit, each once wrong."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from kb import Kb, process_environ

BIN = Path(__file__).parents[2] / "bin" / "git-kb"


def found(kb, *query, **more):
    """Return the docids of the hits."""
    return [citation.partition("#")[0] for citation in kb.hits(*query, **more)]


def test_the_launcher_starts_workers(tmp_path):
    """Worker processes import the launcher again; it must not run there."""
    kb = Kb.create(tmp_path / "r", {f"docs/{n}.md": f"# Page {n}\n\nword{n}\n" for n in range(230)})
    kb.ok("init")
    done = subprocess.run(
        [sys.executable, BIN, "ingest", "-j", "2"], cwd=kb.top, capture_output=True, text=True, env=process_environ()
    )
    assert done.returncode == 0, done.stderr
    assert "230 new" in done.stderr
    assert found(kb, "word229")[0] == "docs--229.md"


@pytest.fixture
def kb(tmp_path):
    kb = Kb.create(
        tmp_path / "r",
        {
            "a.md": "---\ntitle: Lifetimes\ntags: [rust]\n---\n# A\n\nlifetime elision rules\n",
            "docs/b.md": "# B\n\nlifetime of a value\n",
        },
    )
    kb.ok("init")
    kb.ok("ingest")
    return kb


def test_a_word_is_excluded_wherever_it_stands(kb):
    assert found(kb, "lifetime", "-elision") == ["docs--b.md"]
    assert found(kb, "-elision", "lifetime") == ["docs--b.md"]
    assert kb.run("search", "--limt", "3", "lifetime").code == 129


def test_paths_count_from_here(kb):
    assert found(kb, "lifetime", "--path", "b.md", cwd="docs") == ["docs--b.md"]
    assert found(kb, "lifetime", "--path", ".", cwd="docs") == ["docs--b.md"]
    assert len(kb.hits("lifetime", "--path", ".")) == 2


def test_front_matter_can_be_shown(kb):
    row = next(r for r in map(json.loads, kb.ok("ls-sections", "--json").splitlines()) if r["role"])
    for name in (row["citation"], row["kbid"], row["kbid"][:12]):
        assert "title: Lifetimes" in kb.ok("show", name)


def test_status_names_what_is_not_ingested_yet(kb):
    kb.write("docs/new.md", "# New\n")
    assert kb.json("status")["new"] == ["docs/new.md"]


def test_status_names_a_directory_that_has_no_document_once(kb):
    new = ["docs/c.md", "docs/deep/d.md", "docs/deep/er/e.md", "docsx/f.md", "g.md", "new/h.md", "new/i.md"]
    for path in new:
        kb.write(path, "# New\n")
    kb.ok("ingest", "docs/deep/er")
    listed = kb.ok("status").partition("not ingested yet (use 'git kb ingest'):\n")[2].splitlines()
    assert listed[:-1] == ["\tdocs/c.md", "\tdocs/deep/d.md", "\tdocsx/", "\tg.md", "\tnew/"]
    assert kb.json("status")["new"] == [path for path in new if path != "docs/deep/er/e.md"]


def test_log_of_one_source_has_its_ingest_however_many_came_with_it(tmp_path):
    kb = Kb.create(tmp_path / "r", {f"{n:03}.md": f"# Page {n}\n" for n in range(70)})
    kb.ok("init")
    kb.ok("ingest", "-j", "1")
    assert "ingest 70 sources" in kb.ok("log", "069.md")


def test_a_manifest_in_conflict_says_what_to_do(kb):
    name = "kb/documents/a.md.toml"
    kb.write(name, b"<<<<<<< ours\n" + kb.read(name))
    done = kb.run("status")
    assert "merge conflict markers" in done.err
    assert "as its source is" not in done.out
    kb.ok("ingest", "a.md")
    assert "conflict" not in kb.run("status").err


def test_a_revision_without_a_knowledge_base_is_told_from_no_knowledge_base(kb):
    done = kb.run("search", "--at", "HEAD", "x")
    assert done.code == 128
    assert "committed" in done.err


def test_of_several_ids_the_known_ones_are_shown(kb):
    done = kb.run("show", "docs--b.md", "nope", "a.md", "nada")
    assert done.code == 1
    assert done.out == kb.ok("show", "docs--b.md", "a.md")
    assert [line.split(":")[0] for line in done.err.splitlines()] == ["error", "error", "hint"]
    assert "'nope'" in done.err.splitlines()[0]
    assert "'nada'" in done.err.splitlines()[1]


def test_of_several_ids_json_is_a_list_however_many_are_known(kb):
    assert [d["docid"] for d in json.loads(kb.run("show", "--json", "nope", "a.md").out)] == ["a.md"]
    assert json.loads(kb.run("show", "--json", "nope", "nada").out) == []
    assert kb.run("show", "--json", "nope").out == ""
    assert kb.json("show", "a.md")["docid"] == "a.md"


def test_a_failure_worse_than_not_found_is_told_by_the_exit_status(kb):
    kb.write("docs/bb.md", "# BB\n")
    kb.ok("ingest")
    done = kb.run("show", "nope", "docs--b", "a.md")
    assert done.code == 128
    assert "document a.md" in done.out
    assert "'docs--b' is ambiguous" in done.err


@pytest.fixture
def marked(tmp_path):
    """Paths with the marks that stand before a heading and a line."""
    names = ["d/a#b.md", "d/a.md", "d/c.md:1.md", "d/c.md", "d/x#y#z.md"]
    kb = Kb.create(tmp_path / "r", {name: f"# Top of {name}\n\nfirst\n\n## Sub\n\nsecond {name}\n" for name in names})
    kb.ok("init")
    kb.ok("ingest")
    return kb


@pytest.mark.parametrize("verb", ["show", "recall"])
@pytest.mark.parametrize("cwd", [".", "d"])
@pytest.mark.parametrize("path", ["d/a#b.md", "d/a.md", "d/c.md:1.md", "d/c.md", "d/x#y#z.md"])
def test_a_place_as_search_and_links_write_it(marked, verb, cwd, path):
    typed = path if cwd == "." else path.removeprefix("d/")

    def said(name):
        done = marked.run(verb, "--json", name, cwd=cwd)
        data = json.loads(done.out or "{}")
        return data.get("citation") or (data["places"][0]["citation"] if "places" in data else data.get("docid"))

    rows = [r for r in map(json.loads, marked.ok("ls-sections", "--json").splitlines()) if r["source"] == path]
    assert said(typed) == rows[0]["docid"]
    assert said(f"{typed}:1") == said(f"{typed}:4") == rows[0]["citation"]
    assert said(f"{typed}:5") == said(f"{typed}#sub") == said(f"{typed}#Sub") == rows[1]["citation"]
    done = marked.run(verb, f"{typed}#nope", cwd=cwd)
    assert (done.code, done.out) == (1, "")
    assert f"no section '{typed}#nope'" in done.err


def test_an_abbreviated_docid_stays_ambiguous(marked):
    for verb in ("show", "recall"):
        done = marked.run(verb, "d--")
        assert (done.code, "'d--' is ambiguous" in done.err) == (128, True)


@pytest.mark.parametrize("bare", [True, False])
def test_a_clone_without_the_pool_has_all_of_it_after_a_search(tmp_path, bare):
    """Also documents that are front matter alone, and the second of two with the same section."""
    texts = {"alone.md": "---\ntitle: Alone\n---\n", "a.md": "# A\n\nbee\n", "b.md": "---\ntitle: B\n---\n# A\n\nbee\n"}
    kb = Kb.create(tmp_path / "r", texts)
    kb.ok("init")
    kb.ok("ingest")
    kb.git("add", ".")
    kb.git("commit", "-q", "-m", "knowledge base")
    clone = Kb(tmp_path / "clone")
    kb.git("clone", "-q", *(["--bare"] if bare else []), ".", str(clone.top))
    assert clone.run("fsck").code == 1
    clone.ok("search", "bee")
    done = clone.run("fsck")
    assert (done.code, done.out) == (0, "")


def test_nothing_found_repeats_the_query(kb):
    for query in ("", "  ", "nosuchword"):
        assert f"nothing found in the work tree for '{query}' (" in kb.run("search", query).err
    row = json.loads(kb.ok("ls-sections", "--json", "docs/b.md"))
    assert f"for '--near {row['kbid']}'" in kb.run("search", "--path", "docs", "--near", row["kbid"]).err


def test_an_empty_knowledge_base_says_how_to_fill_it(tmp_path):
    kb = Kb.create(tmp_path / "r", {"a.md": "# A\n"})
    kb.ok("init")
    done = kb.run("search", "a")
    assert done.code == 1
    assert "'git kb ingest' brings documents in" in done.err


def test_a_directory_that_gives_no_source_is_spoken_of(kb):
    kb.write("pictures/a.png", b"\x89PNG\r\n")
    for more in ([], ["--dry-run"]):
        assert "no source is there" in kb.run("ingest", "pictures", *more).err
    assert "no source is there" not in kb.run("ingest").err
    assert "no source is there" not in kb.run("ingest", "pictures/a.png").err
    assert kb.run("ingest", "-q", "pictures").err == ""


@pytest.mark.parametrize("tag", ["", " ", "\t\n"])
def test_a_tag_has_something_to_see(kb, tag):
    assert kb.run("ingest", "--tag", tag, "a.md").code == 129
    kb.ok("ingest", "--tag", f"{tag}how {tag}to", "a.md")
    assert json.loads(kb.ok("ls-documents", "--json").splitlines()[0])["tags"] == ["how to", "rust"]


def test_log_takes_a_number_as_git_log_does(kb):
    kb.write("c.md", "# C\n")
    kb.ok("ingest")
    assert len(kb.ok("log", "--oneline").splitlines()) == 2
    assert len(kb.ok("log", "-1", "--oneline").splitlines()) == 1
    assert len(kb.ok("log", "--oneline", "-1", "a.md").splitlines()) == 1
    assert kb.run("log", "--", "-1").err == "no operation on '-1'\n"
    assert kb.run("log", "-1x").code == 129


def test_log_of_a_directory_says_what_to_name(kb):
    for name in ("docs", ".", "docs/"):
        done = kb.run("log", name)
        assert (done.code, done.err) == (1, f"no operation on '{name}': it is a directory; name a source or a document\n")


def test_log_does_not_count_what_an_ingest_does_not_name(tmp_path):
    kb = Kb.create(tmp_path / "r", {f"{n:03}.md": f"# Page {n}\n" for n in range(70)})
    kb.ok("init")
    kb.ok("ingest", "-j", "1")
    assert kb.ok("log").endswith("    source: 009.md\n    and others\n\n")


def test_a_revision_that_does_not_exist_is_told_alike(kb):
    for verb in (["log"], ["search", "x"], ["show", "a.md"], ["status"], ["ls-documents"], ["recall", "a.md"], ["query", "x"]):
        done = kb.run(*verb, "--at", "nope")
        assert (done.code, done.err) == (128, "fatal: unknown revision 'nope'\n"), verb


def test_a_batch_takes_no_names_from_the_command_line(kb):
    for option in ("--batch", "--batch-check"):
        done = kb.run("cat-section", option, "aaaa", stdin=b"")
        assert done.code == 129
        assert "standard input" in done.err


def test_cat_section_tells_a_citation_from_a_kbid(kb):
    for name in ("docs--b.md#c-00000000", "docs/b.md", "abc"):
        done = kb.run("cat-section", "-p", name)
        assert done.code == 1
        assert "'git kb show' takes citations and paths" in done.err
    assert "ingest -f" in kb.run("cat-section", "-p", "aaaa").err


def test_a_mime_type_is_checked_wherever_one_is_given(kb):
    for verb in (["tokens", "a.md"], ["hash-section", "a.md"]):
        assert "'text' is not a MIME type" in kb.run(*verb, "-t", "text").err
        assert kb.run(*verb, "-t", "Text/Markdown; charset=utf-8").out == kb.ok(*verb)


def test_of_a_very_long_question_the_beginning_is_read(kb):
    done = kb.run("query", "Where does the hive stand? " + "hive OR " * 3000)
    assert "of the question's 24027 characters, the first 10000 are read" in done.err
    assert "warning" not in kb.run("query", "Where does the hive stand?").err
