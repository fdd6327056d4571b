"""The main job from one end to the other, and how it ends when it cannot be done."""

import json
import os
import subprocess

import pytest
from kb import (
    CORPUS,
    GUIDE,
    ROOT,
    Kb,
    assert_message,
    command,
    git,
    in_process,
    needs_obedience,
    obey_permissions,
    process,
    process_environ,
)

from git_kb.cli.env import worker_count
from git_kb.cli.main import COMMANDS, command_module, command_parser
from git_kb.repo.open import NAMES


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


def lines(text):
    return text.splitlines()


def test_spine(tmp_path):
    kb = Kb.create(tmp_path / "repo")
    done = kb.run("init")
    assert done.code == 0
    assert "kb.config.json, kb/catalog.toml, kb/AGENTS.md, .gitattributes" in done.err
    done = kb.run("ingest")
    assert (done.code, done.out) == (0, "")
    assert "3 new, 0 changed, 0 unchanged, 0 skipped" in done.err
    assert kb.documents() == ["docs--guide.md", "notes.txt", "src--weigh.py"]
    kb.commit("knowledge base")

    found = kb.ok("search", "syrup")
    assert lines(found)[0] == "1. docs/guide.md:9  Guide > Feed the colony"
    citation = lines(found)[2].split()[0]
    answer = kb.ok("query", "What do I feed the colony?")
    assert "Feed syrup in spring." in lines(answer)
    assert f"— {citation} (docs/guide.md:11)" in lines(answer)
    shown = kb.ok("show", citation)
    assert f"Cite:  {citation}" in lines(shown)
    assert "Feed syrup in spring. Never feed honey from another colony." in lines(shown)
    status = kb.ok("status")
    assert "  3 documents, 6 sections" in lines(status)
    assert "  every document is as its source is" in lines(status)
    log = kb.ok("log")
    assert "    knowledge base" in lines(log)
    assert "    source: docs/guide.md" in lines(log)
    kb.check()


def test_every_cited_line_holds_the_section(kb):
    """A citation's line and byte range lead to its words in the source."""
    for word in ("hive", "syrup", "swarm", "mass"):
        for hit in kb.json("search", word)["results"]:
            data = kb.read(hit["source"])
            content = kb.json("show", hit["citation"])["content"]
            assert data[hit["start"] : hit["end"]].decode().strip() == content
            assert data[: hit["start"]].count(b"\n") + 1 == hit["line"]


def test_every_answered_sentence_stands_word_for_word_in_its_section(kb):
    answer = kb.json("query", "Where do I set the hive?")
    assert answer["sentences"]
    for sentence in answer["sentences"]:
        shown = kb.json("show", sentence["citation"])
        assert shown["content"][sentence["start"] : sentence["end"]] == sentence["text"]
        line = kb.read(sentence["source"]).decode().splitlines()[sentence["line"] - 1]
        assert line.startswith(sentence["text"][:20]) or sentence["text"].split()[0] in line


HIT_KEYS = {
    "kbid", "docids", "type", "heading", "heading_path", "title", "score", "confidence", "snippet", "matched_terms", "matched_fields",
    "created_at", "citation", "source", "source_state", "line", "start", "end",
}  # fmt: skip


def test_search_as_json(kb):
    data = kb.json("search", "hive")
    assert set(data) == {
        "results", "total", "total_is_exact", "query_time_ms", "query", "warnings", "loosened", "listed", "suggestions", "answered_query",
    }  # fmt: skip
    assert data["total"] == len(data["results"]) >= 2
    for hit in data["results"]:
        assert set(hit) == HIT_KEYS
        assert 0 <= hit["confidence"] <= 1
    assert [h["score"] for h in data["results"]] == sorted((h["score"] for h in data["results"]), reverse=True)
    assert data["results"][0]["created_at"].startswith("2023-11-14T")


def test_search_as_json_without_hits_ends_with_1(kb):
    done = kb.run("search", "--json", "zebra")
    assert done.code == 1
    assert json.loads(done.out)["results"] == []
    assert done.err == ""


def test_other_json_forms(kb):
    keys = {"question", "sentences", "code", "sources", "confidence", "confidence_score", "reason", "gaps", "explore"}
    assert set(kb.json("query", "swarm")) == keys
    section = kb.json("show", kb.hits("syrup")[0])
    assert set(section) == {"kbid", "type", "size", "title", "places", "content"}
    document = kb.json("show", "docs--guide.md")
    assert set(document) == {"docid", "title", "source", "blob", "type", "tier", "tags", "sections"}
    assert isinstance(kb.json("show", "docs--guide.md", "notes.txt"), list)
    status = kb.json("status")
    assert (status["documents"], status["sections"], status["stale"], status["gone"], status["not_indexed"]) == (3, 6, [], [], 0)
    assert status["pool"]["sections"] == status["index"]["entries"] == 6
    fsck = kb.json("fsck")
    assert (fsck["ok"], fsck["sections_checked"], fsck["documents_checked"], fsck["segments_checked"]) == (True, 6, 3, 1)
    for line in lines(kb.ok("log", "--json")):
        assert {"oid", "when", "when_s", "author", "email", "subject", "where", "sources"} == set(json.loads(line))
    for line in lines(kb.ok("ls-documents", "--json")):
        assert set(json.loads(line)) == {"docid", "title", "source", "blob", "type", "language", "tier", "tags", "sections"}
    sections = [json.loads(line) for line in lines(kb.ok("ls-sections", "--json"))]
    assert [s["line"] for s in sections if s["docid"] == "docs--guide.md"] == [1, 5, 9]
    for line in lines(kb.ok("chunk", "docs/guide.md")):
        assert {"file", "kbid", "chunk", "heading", "first_line", "last_line", "start", "end", "type", "role", "part"} == set(
            json.loads(line)
        )
    ingested = kb.json("ingest")
    assert set(ingested) == {
        "new",
        "changed",
        "moved",
        "unchanged",
        "skipped",
        "warnings",
        "gone",
        "pruned",
        "sections",
        "sections_new",
        "near_duplicates",
        "near_duplicates_total",
    }
    assert ingested["unchanged"] == 3


def test_a_file_cut_by_hand_has_the_sections_that_ingest_stored(kb):
    by_hand = [json.loads(line)["kbid"] for line in lines(kb.ok("chunk", "docs/guide.md"))]
    assert by_hand == lines(kb.ok("ls-sections", "--format", "{kbid}", "docs--guide.md"))


def test_hash_and_cat_section(kb):
    kbid = kb.ok("hash-section", "-t", "text/plain", "--stdin", stdin=b"Queens live for years.\r\n").strip()
    assert kb.run("cat-section", "-e", kbid) == (1, "", "")
    assert kb.ok("hash-section", "-w", "-t", "text/plain", "--stdin", stdin=b"Queens live for years.\n").strip() == kbid
    assert kb.ok("cat-section", "-t", kbid) == "text/plain\n"
    assert kb.ok("cat-section", "-s", kbid) == "22\n"
    assert kb.ok("cat-section", "-p", kbid[:6]) == "Queens live for years."
    assert kb.ok("cat-section", "-e", kbid) == ""
    out = kb.ok("cat-section", "--batch", stdin=f"{kbid}\nnothing\n".encode())
    assert out == f"{kbid} text/plain 22\nQueens live for years.\nnothing missing\n"
    assert kb.ok("cat-section", "--batch-check", stdin=f"{kbid[:8]}\n".encode()) == f"{kbid} text/plain 22\n"


def test_records(kb):
    assert kb.ok("ls-documents", "-z", "--format", "{docid}") == "docs--guide.md\0notes.txt\0src--weigh.py\0"
    assert_message(kb.run("ls-documents", "--format", "{nope}"), 129, "no field 'nope'", "hint: fields: docid,")
    assert_message(kb.run("ls-sections", "nope"), 1, "no document 'nope'")


@pytest.mark.parametrize("verb", ["init", "ingest", "search", "query", "show", "status", "log", "index", "fsck", "cat-section"])
def test_help(tmp_path, verb):
    """-h needs no repository, goes to stdout and is no failure."""
    done = in_process(tmp_path, verb, "-h")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: git kb {verb}")
    assert in_process(tmp_path, "help", verb) == done


def test_usage_errors(kb):
    assert_message(kb.run("serch", "x"), 129, "'serch' is not a git kb command", "hint: the most similar: search")
    assert_message(kb.run("search"), 129, "required: word", "usage: git kb search [<options>] [<word>...]")
    assert_message(kb.run("search", "--no-such-option", "x"), 129, "--no-such-option")
    assert_message(kb.run("search", "--limi", "3", "x"), 129, "--limi")
    assert_message(kb.run("search", "--limit", "0", "x"), 129, "--limit must be at least 1")
    assert_message(kb.run("search", "--limit", "many", "x"), 129, "many")
    assert_message(kb.run("search", "--weights", "title=3", "x"), 129, "'title=3' is no weight")
    assert_message(kb.run("search", "--at", "HEAD", "--cached", "x"), 129, "not allowed with")
    assert_message(kb.run("-C"), 129, "'-C' needs a value")
    assert_message(kb.run("ingest", "-j", "-1"), 129, "--jobs")
    assert_message(kb.run("ingest", "--title", "T"), 129, "--title is for one source")
    assert_message(kb.run("hash-section"), 129, "nothing to hash")
    assert_message(kb.run("cat-section", "-p"), 129, "name a section")


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_wrong_option_gets_one_line_and_the_usage(tmp_path, verb):
    """As git has it, and before anything of a repository is looked at."""
    done = in_process(tmp_path, verb, "--no-such-option=1", "x")
    error, usage, hint = lines(done.err)
    assert_message(done, 129)
    assert error == "error: unknown option '--no-such-option'"
    assert usage.startswith(f"usage: git kb {verb} [<options>]")
    assert len(usage) < 80
    assert hint == f"hint: see 'git kb {verb} -h'"
    assert lines(in_process(tmp_path, verb, "--no-such-option=1", "x", GIT_ADVICE="0").err) == [error, usage]
    for positional in command_parser(verb, command_module(verb))._get_positional_actions():
        assert f"<{positional.dest}>" in usage


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["--no-such-option"], "unknown option '--no-such-option'"),
        (["search", "--limit"], "option '--limit': expected one argument"),
        (["search", "--limit", "many", "x"], "option '--limit': 'many' is not a number"),
        (["search", "--at", "HEAD", "--cached", "x"], "option '--cached': not allowed with '--at'"),
        (["ingest", "-j", "-1"], "option '--jobs': -1 is negative"),
        (["index", "--jobs=-1"], "option '--jobs': -1 is negative"),
        (["index", "-j1_0"], "option '--jobs': '1_0' is not a number"),
        (["log", "-n", "x"], "option '--max-count': 'x' is not a number"),
        (["search", "--limit", "9" * 20, "x"], f"option '--limit': '{'9' * 20}' is out of range: numbers have at most 18 digits"),
        (
            ["search", "--offset=-" + "9" * 19, "x"],
            f"option '--offset': '-{'9' * 19}' is out of range: numbers have at most 18 digits",
        ),
        (["search", "--weights", "k1=1e7", "x"], "'k1=1e7' is out of range: 'k1' goes from 0 to 1000000"),
        (["search", "--weights", "b.code=1.5", "x"], "'b.code=1.5' is out of range: 'b.code' goes from 0 to 1"),
        (["search", "--weights", "b=-1", "x"], "'b=-1' is out of range: 'b' goes from 0 to 1"),
        (["search", "--weights", "code=nan", "x"], "'code=nan' is out of range: 'code' goes from 0 to 1000000"),
        (["search", "--weights", "heading=", "x"], "'heading=' is no weight: '' is not a number"),
        (["search", "--weights", "=3", "x"], "'=3' is no weight: nothing is called ''"),
        (["log", "a", "b"], "unexpected argument 'b'"),
        (["init", "here"], "unexpected argument 'here'"),
    ],
)
def test_what_usage_errors_say(kb, args, error):
    done = kb.run(*args)
    assert done.code == 129
    assert lines(done.err)[0] == f"error: {error}"
    assert lines(done.err)[1].startswith("usage: git kb ")


def test_jobs():
    """0 is the default, as for 'git grep --threads'; a number without sense starts no such number of processes."""
    assert 1 <= worker_count() == worker_count(0) <= 4
    assert (worker_count(1), worker_count(3)) == (1, 3)
    assert worker_count(10**9) == max(64, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())


@pytest.mark.parametrize("verb", ["ingest", "index"])
@pytest.mark.parametrize("n", ["0", "1", "100000"])
def test_any_number_of_jobs_does_the_work(tmp_path, verb, n):
    kb = Kb.create(tmp_path / "repo")
    kb.ok("init")
    kb.ok("ingest", *(["-j", n] if verb == "ingest" else ["--no-index"]))
    kb.ok("index", *(["-j", n] if verb == "index" else []))
    assert len(kb.documents()) == 3


def test_what_does_not_exist(kb):
    assert_message(kb.run("show", "nope"), 1, "nothing is called 'nope'", "hint: give a kbid")
    assert_message(kb.run("show", "docs--guide.md#c-00000000"), 1, "docs--guide.md#c-00000000")
    assert_message(kb.run("show", "nope#c-00000000"), 1, "no document 'nope'")
    assert_message(kb.run("cat-section", "-p", "aaaa"), 1, "no section 'aaaa'")
    assert_message(kb.run("search", "--at", "nope", "x"), 128, "unknown revision 'nope'")
    assert_message(kb.run("search", "--at", "--help", "x"), 129)
    assert_message(kb.run("search", "--at=--help", "x"), 128, "'--help'")
    assert_message(kb.run("log", "--at", "nope"), 128, "'nope'")
    assert_message(kb.run("ingest", "nope.md"), 128, "cannot ingest 'nope.md': no such file")
    assert_message(kb.run("-C", "nope", "status"), 128, "cannot change to 'nope'")
    assert_message(kb.run("status", GIT_KB_BACKEND="nope"), 129, "unknown backend 'nope'", "hint: GIT_KB_BACKEND is")


def test_no_hints_when_advice_is_off(kb):
    assert "hint" not in kb.run("show", "nope", GIT_ADVICE="0").err


def test_files_that_cannot_be_read_are_named(kb):
    done = process(kb.top, "chunk", "nope.md")
    assert (done.code, done.out, done.err) == (
        128,
        "",
        "fatal: cannot read 'nope.md': no such file or directory\nhint: '-' reads standard input\n",
    )


def test_not_a_repository(tmp_path):
    for verb in ("init", "ingest", "status", "log", "fsck", "index"):
        assert_message(in_process(tmp_path, verb), 128, "not a git repository")
    assert_message(in_process(tmp_path, "search", "x"), 128, "not a git repository")


def test_no_knowledge_base(tmp_path):
    kb = Kb.create(tmp_path / "repo")
    for args in (
        ["ingest"],
        ["search", "x"],
        ["query", "x"],
        ["show", "x"],
        ["status"],
        ["index"],
        ["fsck"],
        ["ls-documents"],
    ):
        assert_message(kb.run(*args), 128, "no knowledge base in", "'kb/catalog.toml' is missing", "hint: run 'git kb init'")
    assert kb.run("log").code == 0


def test_init_twice_changes_nothing(kb):
    before = {name: kb.read(name) for name in ("kb.config.json", "kb/catalog.toml", "kb/AGENTS.md", ".gitattributes")}
    assert "nothing to do" in kb.run("init").err
    assert before == {name: kb.read(name) for name in before}


def test_from_a_sub_directory(kb):
    """Paths are shown, and taken, relative to where we stand."""
    assert lines(kb.run("search", "syrup", cwd="docs").out)[0].startswith("1. guide.md:9 ")
    assert lines(kb.run("search", "swarm", cwd="docs").out)[0].startswith("1. ../notes.txt:1 ")
    assert "(guide.md:11)" in kb.ok("query", "feed colony", cwd="docs")
    assert "document docs--guide.md" in kb.ok("show", "guide.md", cwd="docs")
    assert "document docs--guide.md" in kb.ok("show", "../docs/guide.md", cwd="src")
    assert "ingest 3 sources" in kb.ok("log", "guide.md", cwd="docs")
    kb.write("docs/more.md", "# More\n\nAbout wasps.\n")
    kb.write("other.md", "# Other\n\nAbout hornets.\n")
    assert "1 new" in kb.run("ingest", cwd="docs").err
    assert "other.md" not in kb.documents()


def test_c_option(kb, tmp_path):
    assert lines(in_process(tmp_path, "-C", "repo", "search", "syrup").out)[0].startswith("1. docs/guide.md:9 ")
    assert lines(in_process(tmp_path, "-C", "repo", "-C", "docs", "search", "syrup").out)[0].startswith("1. guide.md:9 ")


def test_git_dir_and_work_tree(kb, tmp_path):
    os.rename(kb.path(".git"), tmp_path / "elsewhere.git")
    env = {"GIT_DIR": str(tmp_path / "elsewhere.git"), "GIT_WORK_TREE": kb.top}
    assert lines(in_process(tmp_path, "search", "syrup", **env).out)[0].startswith("1. ")
    options = ["--git-dir", "elsewhere.git", "--work-tree=repo"]
    assert lines(in_process(tmp_path, *options, "search", "syrup").out)[0].startswith("1. ")
    assert in_process(tmp_path, *options, "status").code == 0
    assert "3 unchanged" in in_process(kb.top, "--git-dir", str(tmp_path / "elsewhere.git"), "ingest").err


def test_in_a_linked_work_tree(kb, tmp_path):
    """The index is shared, the view is the work tree's own."""
    kb.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    linked = Kb(tmp_path / "linked")
    segments = kb.segments()
    done = linked.run("search", "syrup")
    assert lines(done.out)[0].startswith("1. docs/guide.md:9 ")
    assert done.err == ""
    linked.write("docs/guide.md", GUIDE.replace("syrup", "fondant"))
    linked.ok("ingest", "-q")
    assert linked.run("search", "fondant").code == 0
    assert linked.run("search", "syrup").code == 1
    assert kb.run("search", "fondant").code == 1
    assert kb.run("search", "syrup").code == 0
    assert not os.path.exists(linked.path("kb/kb"))
    assert set(segments) != set(linked.segments()) == set(kb.segments())
    assert {"views/worktree.kbv", "views/worktree-linked.kbv"} <= set(kb.kb_files())
    linked.check()


def test_in_a_bare_repository(kb, tmp_path):
    kb.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    bare = Kb(tmp_path / "bare.git")
    git("fetch", "-q", "origin", "refs/kb/sections:refs/kb/sections", cwd=bare.top)
    for at in ([], ["--at", "HEAD"], ["--at", "main"]):
        assert lines(bare.ok("search", "syrup", *at))[0].startswith("1. docs/guide.md:9 ")
    assert "Feed syrup in spring." in bare.ok("query", "feed colony")
    assert "document notes.txt" in bare.ok("show", "notes.txt")
    assert bare.json("status")["documents"] == 3
    assert bare.json("status")["stale"] == []
    assert "knowledge base" in bare.ok("log")
    assert len(lines(bare.ok("ls-documents"))) == 3
    assert_message(bare.run("ingest"), 128, "this operation must be run in a work tree")
    assert_message(bare.run("init"), 128, "this operation must be run in a work tree")
    bare.check()


def test_a_bare_repository_without_the_pool(kb, tmp_path):
    kb.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    assert Kb(tmp_path / "bare.git").run("search", "syrup").code == 0


def test_inside_the_git_directory(kb):
    assert lines(kb.ok("search", "syrup", cwd=".git"))[0].startswith("1. docs/guide.md:9 ")
    assert_message(kb.run("ingest", cwd=".git"), 128, "work tree")


def test_before_the_first_commit(tmp_path):
    kb = Kb.create(tmp_path / "repo", files={})
    for name, text in CORPUS.items():
        kb.write(name, text)
    kb.ok("init")
    kb.ok("ingest")
    assert lines(kb.ok("search", "syrup"))[0].startswith("1. docs/guide.md:9 ")
    assert kb.json("status")["documents"] == 3
    assert kb.ok("log") != ""
    assert "notes.txt" in kb.ok("log", "notes.txt")
    assert_message(kb.run("search", "--at", "HEAD", "x"), 128, "unknown revision 'HEAD'")
    kb.check()


def test_with_a_detached_head(kb):
    kb.git("checkout", "-q", "--detach")
    assert kb.run("search", "syrup").code == 0
    kb.write("new.md", "# New\n\nRoyal jelly.\n")
    kb.ok("ingest")
    kb.commit("on no branch")
    assert kb.run("search", "--at", "HEAD", "jelly").code == 0
    assert kb.run("search", "--at", "main", "jelly").code == 1


def test_in_a_submodule(kb, tmp_path):
    outer = Kb.create(tmp_path / "outer", {"a.md": "# A\n\nOuter words.\n"})
    outer.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", kb.top, "inner")
    outer.commit("submodule")
    outer.ok("init", "-q")
    assert [s for s in outer.json("ingest")["skipped"] if s["path"] == "inner"] == [
        {"path": "inner", "reason": "it is a submodule; run git kb inside it"}
    ]
    assert outer.documents() == ["a.md"]
    inner = Kb(tmp_path / "outer" / "inner")
    assert lines(inner.ok("search", "syrup"))[0].startswith("1. docs/guide.md:9 ")
    assert inner.run("search", "outer").code == 1
    assert outer.run("search", "syrup").code == 1


@pytest.mark.parametrize("backend", ["", "dulwich"])
def test_in_a_sha256_repository(tmp_path, backend):
    kb = Kb.ready(tmp_path / "repo", object_format="sha256")
    assert kb.run("search", "syrup", GIT_KB_BACKEND=backend).code == 0
    assert len(kb.json("show", "notes.txt")["blob"]) == 64
    assert kb.run("search", "--at", "HEAD", "swarm", GIT_KB_BACKEND=backend).code == 0
    kb.check()
    for name in ("pygit2", "libgit2"):
        done = kb.run("status", GIT_KB_BACKEND=name)
        assert_message(
            done, 128, "cannot open", "hint: unset GIT_KB_BACKEND or set it to 'dulwich': only that reads SHA-256 repositories"
        )


def test_each_backend_that_a_hint_names_is_taken(kb):
    hint = kb.run("status", GIT_KB_BACKEND="nope").err.splitlines()[-1]
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        row = next(line for line in file if line.startswith("| `GIT_KB_BACKEND`"))
    for name in NAMES:
        assert f"'{name}'" in hint
        assert f"`{name}`" in row
        assert kb.run("status", GIT_KB_BACKEND=name).code == 0


LONG = "x" * 100_000


@pytest.mark.parametrize(
    "args",
    [
        [LONG],
        ["--" + LONG],
        ["-C", LONG, "status"],
        ["search", LONG],
        ["search", f"{LONG} before:{LONG} heading:->{'-' * 300}"],
        ["search", "--" + LONG],
        ["search", "--at", LONG, "x"],
        ["search", "--since", LONG, "x"],
        ["search", "--near", LONG],
        ["search", "--limit", "9" * 100_000, "x"],
        ["search", "--limit", LONG, "x"],
        ["search", "--weights", LONG, "x"],
        ["search", "--mode", LONG, "x"],
        ["search", "--path", "../" + LONG, "x"],
        ["query", "--at", LONG, "x"],
        ["show", LONG],
        ["show", f"{LONG}#{LONG}"],
        ["recall", LONG],
        ["ingest", LONG],
        ["ingest", "https://" + LONG],
        ["log", LONG],
        ["log", "-n", LONG],
        ["cat-section", LONG],
        ["ls-sections", LONG],
        ["dump-segment", LONG],
        ["chunk", LONG],
        ["tokens", LONG],
        ["hash-section", LONG],
        ["status", LONG],
    ],
    ids=lambda args: " ".join(args)[:30],
)
def test_what_was_typed_is_echoed_no_longer_than_is_of_use(kb, args):
    done = kb.run(*args)
    assert len(done.err) < 6000, (args, len(done.err))
    assert all(len(line) < 1100 for line in done.err.splitlines())
    assert "Traceback" not in done.err


def test_a_backend_is_named_that_the_repository_needs(kb):
    assert_message(kb.run("status", GIT_KB_BACKEND=LONG), 129, "unknown backend 'xxx")


def test_both_backends_make_the_same(tmp_path):
    made = []
    for backend in ("pygit2", "dulwich"):
        kb = Kb.create(tmp_path / backend)
        kb.ok("init", "-q", "--name", "bees", GIT_KB_BACKEND=backend)
        kb.ok("ingest", "-q", GIT_KB_BACKEND=backend)
        made.append(
            (
                kb.manifests(),
                kb.git("rev-parse", "refs/kb/sections"),
                kb.segments(),
                kb.run("search", "hive", GIT_KB_BACKEND=backend),
            )
        )
        kb.check()
    assert made[0] == made[1]


def test_a_query_may_begin_with_a_dash(kb):
    assert kb.hits("--", "-honey", "hive") == kb.hits("hive -honey") != []
    assert kb.hits("-honey", "hive") == kb.hits("hive -honey")
    assert kb.run("search", "-honey").code == kb.run("search", "--", "-honey").code == 1
    assert_message(kb.run("search", "--honey"), 129)


QUERIES = [
    "",
    " ",
    '"',
    '""',
    "-",
    "*",
    '"-',
    "-*",
    "\x00",
    "\x1b[31m",
    "a" * 100_000,
    "(((",
    "AND OR NOT",
    "\udcff",
    "\ud800",
    "🐝",
    "hive\n*",
]


def test_any_text_is_a_query(kb):
    for verb in ("search", "query"):
        for query in QUERIES:
            done = kb.run(verb, "--", query)
            assert done.code in (0, 1)
            assert "\x1b" not in done.out + done.err


def test_filters_and_paging(kb):
    everything = kb.hits("hive", "--limit", "100")
    assert kb.hits("hive", "--limit", "1") == everything[:1]
    assert kb.hits("hive", "--limit", "100", "--offset", "1") == everything[1:]
    assert f"{len(everything) - 1} more" in kb.run("search", "hive", "--limit=1").err
    assert lines(kb.ok("search", "hive", "--limit=1", "--offset=1"))[0].startswith("2. ")
    assert {c.split("#")[0] for c in kb.hits("hive", "--path", "src")} == {"src--weigh.py"}
    assert {c.split("#")[0] for c in kb.hits("hive", "--doc", "docs--")} == {"docs--guide.md"}
    assert {c.split("#")[0] for c in kb.hits("hive", "--type", "text/markdown")} == {"docs--guide.md"}
    assert kb.hits("hive", "--tag", "nope") == []


def test_colour(kb):
    plain = kb.ok("search", "syrup")
    assert "\x1b" not in plain
    assert "\x1b[1;31msyrup\x1b[m" in kb.ok("search", "syrup", GIT_PAGER_IN_USE="1")
    assert kb.ok("search", "syrup", GIT_PAGER_IN_USE="1", NO_COLOR="1") == plain


def test_source_text_cannot_steer_the_terminal(tmp_path):
    kb = Kb.ready(tmp_path / "repo", {"a.md": "# Clear \x1b[2J\x9b2J\u202e\n\nhornet \x1b]0;title\x07 text\n"})
    shown = [
        kb.ok("search", "hornet"),
        kb.ok("query", "hornet"),
        kb.ok("show", "a.md"),
        kb.ok("show", kb.hits("hornet")[0]),
        kb.ok("ls-sections"),
    ]
    for text in shown:
        assert not set(text) & set("\x1b\x9b\x07\u202e")


def test_the_exit_code_of_the_process(kb):
    assert process(kb.top, "search", "syrup").code == 0
    assert process(kb.top, "search", "zebra").code == 1
    assert process(kb.top, "serch").code == 129
    assert process(kb.top, "search", "-h").code == 0
    assert process(kb.top, "--version").out.startswith("git-kb version ")
    assert process(os.path.dirname(kb.top), "status").code == 128


@pytest.mark.parametrize(
    "args", [["ls-sections"], ["search", "hive"], ["show", "docs--guide.md"], ["log"], ["-h"], ["search", "-h"]]
)
def test_a_reader_that_goes_away(kb, args):
    """A closed pipe is no error to talk about; the exit code is that of a SIGPIPE."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command(*args), cwd=kb.top, stdout=write, stderr=subprocess.PIPE, env=process_environ())
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


def test_a_full_disk_under_stdout(kb):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command("ls-sections"), cwd=kb.top, stdout=full, stderr=subprocess.PIPE, env=process_environ())
    assert done.returncode == 128
    assert done.stderr == b"fatal: write failure on standard output: no space left on device\n"


@needs_obedience
@pytest.mark.parametrize("indexed", [True, False])
def test_where_nothing_can_be_written(tmp_path, indexed):
    """Searches answer in a read-only repository, with the index that is there or one in memory."""
    kb = Kb.ready(tmp_path / "repo")
    if not indexed:
        subprocess.run(["rm", "-r", kb.path(".git/kb")], check=True)
    subprocess.run(["chmod", "-R", "a-w", kb.path("")], check=True)
    try:

        def run(*args):
            return subprocess.run(
                command(*args), cwd=kb.top, capture_output=True, text=True, env=process_environ(), preexec_fn=obey_permissions
            )

        done = run("search", "syrup")
        assert done.returncode == 0, done
        assert done.stdout.startswith("1. docs/guide.md:9 ")
        assert ("the index cannot be stored" in done.stderr) != indexed
        assert run("query", "feed colony").returncode == 0
        assert run("search", "--at", "HEAD", "syrup").returncode == 0
        assert run("search", "--cached", "syrup").returncode == 0
        assert run("status").returncode == 0
        done = run("ingest")
        assert done.returncode == 128
        assert done.stderr.startswith("fatal: cannot write '")
        assert "Traceback" not in done.stderr
    finally:
        subprocess.run(["chmod", "-R", "u+w", kb.path("")], check=True)


def test_sections_are_listed_by_docid_or_path(tmp_path):
    kb = Kb.ready(tmp_path / "repo")
    by_docid = kb.ok("ls-sections", "docs--guide.md")
    assert kb.ok("ls-sections", "docs/guide.md") == kb.ok("-C", "docs", "ls-sections", "guide.md") == by_docid
    assert_message(kb.run("ls-sections", "docs"), 1, "no document 'docs'")
    assert_message(kb.run("ls-sections", "../x.md"), 1, "no document '../x.md'")
