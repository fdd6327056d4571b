"""Which sources an ingest takes, and what it says about the others."""

import os

import pytest
from kb import Kb, git, process

from git_kb.ingest.select import NoSuchSource, inside_path, resolve_path
from git_kb.repo.discover import discover


@pytest.fixture
def kb(tmp_path):
    kb = Kb.create(tmp_path / "repo", {"a.md": "# A\n\nFirst.\n"})
    kb.ok("init", "-q")
    return kb


def skipped(kb, *args):
    """Ingest; return path -> reason of what was skipped."""
    return {s["path"]: s["reason"] for s in kb.json("ingest", *args)["skipped"]}


def configure(kb, **sources):
    import json

    data = json.loads(kb.read("kb.config.json"))
    data["sources"].update(sources)
    kb.write("kb.config.json", json.dumps(data))


def test_tracked_and_untracked_files_are_taken_ignored_ones_are_not(kb):
    kb.write(".gitignore", "*.log.md\nbuild/\n")
    kb.write("untracked.md", "# U\n\nNot yet added.\n")
    kb.write("run.log.md", "# L\n\nIgnored.\n")
    kb.write("build/out.md", "# B\n\nIgnored too.\n")
    assert skipped(kb) == {}
    assert kb.documents() == ["a.md", "untracked.md"]


def test_an_ignored_file_named_on_the_command_line_is_refused_with_advice(kb):
    kb.write(".gitignore", "*.log.md\n")
    kb.write("run.log.md", "# L\n\nIgnored.\n")
    done = kb.run("ingest", "run.log.md")
    assert done.code == 128
    assert done.err == "fatal: cannot ingest 'run.log.md': git ignores it\nhint: track it with 'git add -f', then ingest it\n"
    kb.git("add", "-f", "run.log.md")
    assert kb.run("ingest", "run.log.md").code == 0
    assert "run.log.md" in kb.documents()


def test_include_and_exclude(kb):
    for name in ("b.md", "drafts/c.md", "notes/d.txt", "notes/deep/e.txt", "x.bin"):
        kb.write(name, f"Text of {name}.\n")
    configure(kb, include=["*.md", "notes/**/*.txt", "drafts/*"], exclude=["drafts/**"])
    kb.ok("ingest")
    assert kb.documents() == ["a.md", "b.md", "notes--d.txt", "notes--deep--e.txt"]


def test_a_file_named_on_the_command_line_is_taken_whatever_the_patterns_say(kb):
    configure(kb, include=["nothing"], exclude=["**"])
    assert kb.run("ingest").code == 0
    assert kb.documents() == []
    kb.ok("ingest", "a.md")
    assert kb.documents() == ["a.md"]


def test_the_knowledge_base_does_not_eat_itself(kb):
    kb.ok("ingest")
    kb.ok("ingest")
    kb.ok("ingest", "kb")
    assert kb.documents() == ["a.md"]


def test_directories_and_files_are_relative_to_where_we_stand(kb):
    for name in ("docs/b.md", "docs/sub/c.md", "other/d.md"):
        kb.write(name, f"# {name}\n\nText.\n")
    kb.ok("ingest", "b.md", "sub", cwd="docs")
    assert kb.documents() == ["docs--b.md", "docs--sub--c.md"]
    kb.ok("ingest", "../other", cwd="docs")
    assert "other--d.md" in kb.documents()
    kb.ok("ingest", kb.top)
    assert "a.md" in kb.documents()


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("nope.md", "no such file or directory"),
        ("../outside.md", "it is outside of this repository"),
        ("/etc/hostname", "it is outside of this repository"),
        (".git", "it belongs to git itself"),
        (".git/config", "it belongs to git itself"),
        ("dangling.md", "it is a symbolic link to nothing"),
        ("loop.md", "it is a symbolic link to nothing"),
        ("away.md", "it is outside of this repository"),
        ("https://example.com/x", "this version takes files and directories only"),
    ],
)
def test_what_cannot_be_named(kb, tmp_path, path, why):
    (tmp_path / "outside.md").write_text("# Out\n\nSecret.\n")
    os.symlink("nowhere.md", kb.path("dangling.md"))
    os.symlink("loop.md", kb.path("loop.md"))
    os.symlink("../outside.md", kb.path("away.md"))
    done = kb.run("ingest", path)
    assert done.code == 128
    assert done.err.startswith(f"fatal: cannot ingest '{path}': {why}")
    assert kb.documents() == []


def test_symbolic_links(kb, tmp_path):
    """A link in a directory is named, not followed; one on the command line leads to its target, inside the repository."""
    (tmp_path / "outside.md").write_text("# Out\n\nSecret.\n")
    (tmp_path / "outdir").mkdir()
    (tmp_path / "outdir" / "deep.md").write_text("# Deep\n\nSecret.\n")
    kb.write("docs/b.md", "# B\n\nSecond.\n")
    for target, name in (
        ("docs/b.md", "in.md"),
        ("../outside.md", "out.md"),
        ("loop.md", "loop.md"),
        ("nowhere.md", "dangling.md"),
        ("docs", "dirlink.md"),
        ("../outdir", "outdirlink.md"),
        (".", "self.md"),
    ):
        os.symlink(target, kb.path(name))
    reason = "it is a symbolic link; a target in this repository is ingested under its own name"
    links = {"in.md", "out.md", "loop.md", "dangling.md", "dirlink.md", "outdirlink.md", "self.md"}
    assert skipped(kb) == dict.fromkeys(links, reason)
    kb.git("add", "-A")
    assert skipped(kb) == dict.fromkeys(links, reason)
    assert kb.documents() == ["a.md", "docs--b.md"]
    assert kb.run("search", "secret").code == 1
    kb.ok("ingest", "in.md")
    kb.ok("ingest", "dirlink.md")
    assert kb.documents() == ["a.md", "docs--b.md"]


@pytest.mark.parametrize("named", ["link.md", "dirlink", "dirlink/b.md", "through/link.md"])
def test_a_named_link_stands_for_what_it_points_to(kb, named):
    """As the README has it: the target is ingested, under its own name."""
    kb.write("docs/b.md", "# B\n\nSecond.\n")
    os.symlink("docs/b.md", kb.path("link.md"))
    os.symlink("docs", kb.path("dirlink"))
    os.symlink(".", kb.path("through"))
    kb.ok("ingest", named)
    assert kb.documents() == ["docs--b.md"]


@pytest.mark.parametrize(("target", "why"), [(".git/config", "it belongs to git itself"), ("ignored.md", "git ignores it")])
def test_a_named_link_is_refused_where_its_target_is(kb, target, why):
    kb.write(".gitignore", "ignored.md\n")
    kb.write("ignored.md", "# Ignored\n")
    os.symlink(target, kb.path("link.md"))
    done = kb.run("ingest", "link.md")
    assert done.code == 128
    assert done.err.startswith(f"fatal: cannot ingest 'link.md': {why}")


def test_a_tracked_directory_replaced_by_a_link_to_elsewhere(kb, tmp_path):
    """What lies beyond a link is not ours, though the index lists it."""
    kb.write("docs/b.md", "# B\n\nSecond.\n")
    kb.commit()
    os.rename(kb.path("docs"), tmp_path / "moved")
    (tmp_path / "moved" / "b.md").write_text("# B\n\nSecret.\n")
    os.symlink("../moved", kb.path("docs"))
    kb.run("ingest")
    assert kb.run("search", "secret").code == 1
    assert "secret" not in "".join(map(str, kb.manifests().values())).lower()


def test_other_repositories_inside(kb, tmp_path):
    inner = Kb.create(tmp_path / "inner", {"i.md": "# I\n\nInner.\n"})
    kb.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.top, "sub")
    Kb.create(kb.path("nested").decode(), {"n.md": "# N\n\nNested.\n"})
    assert skipped(kb) == {
        "nested": "it is a repository of its own; run git kb inside it",
        "sub": "it is a submodule; run git kb inside it",
    }
    assert kb.documents() == ["a.md"]
    assert kb.run("ingest", "sub/i.md").code == 128
    configure(kb, exclude=["sub", "nested"])
    assert skipped(kb) == {}


LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "4d" * 32 + "\nsize 12345\n"
UNUSABLE = {
    "binary.md": (b"\x00\x01\x02\xff" * 100, "binary"),
    "empty.md": (b"", "empty"),
    "blank.md": (b" \n\t\n\n", "empty"),
    "pointer.md": (LFS.encode(), "LFS"),
    "large.md": (b"word " * 5000, "it has 25000 bytes; sources.max_file_bytes is 20000"),
}


@pytest.mark.parametrize("named", [True, False], ids=["named", "found"])
def test_what_cannot_be_used_is_named_with_the_reason(kb, named):
    configure(kb, max_file_bytes=20000)
    for name, (data, _) in UNUSABLE.items():
        kb.write(name, data)
    reasons = skipped(kb, *(UNUSABLE if named else ()))
    assert set(reasons) == set(UNUSABLE)
    for name, (_, words) in UNUSABLE.items():
        assert words in reasons[name]
    done = kb.run("ingest")
    assert done.code == 0
    for name in UNUSABLE:
        assert f"warning: skipped '{name}': {reasons[name]}\n" in done.err
    assert kb.documents() == ["a.md"]


def test_status_does_not_offer_what_an_ingest_would_refuse(kb, monkeypatch):
    from git_kb.ingest import select

    kb.ok("ingest")
    configure(kb, max_file_bytes=20000)
    kb.write("good.md", "# Good\n\nText.\n")
    for name, (data, _) in UNUSABLE.items():
        kb.write(name, data)
    assert kb.json("status")["new"] == ["good.md"]
    kb.ok("ingest", "-q")
    assert kb.json("status")["new"] == []
    assert "not ingested yet" not in kb.ok("status")
    # Many new files are listed without a look into them.
    monkeypatch.setattr(select, "MAX_LOOKS", 2)
    assert kb.json("status")["new"] == ["binary.md", "blank.md", "empty.md", "pointer.md"]


def test_a_file_with_merge_conflicts_is_left_alone(kb):
    kb.commit("base")
    kb.git("switch", "-q", "-c", "other")
    kb.write("a.md", "# A\n\nTheirs.\n")
    kb.commit("theirs")
    kb.git("switch", "-q", "main")
    kb.write("a.md", "# A\n\nOurs.\n")
    kb.commit("ours")
    kb.git("merge", "-q", "other", check=False)
    assert skipped(kb) == {"a.md": "it has unresolved merge conflicts"}


def test_a_sparse_checkout_loses_nothing(kb):
    kb.write("docs/b.md", "# B\n\nSecond.\n")
    kb.ok("ingest")
    kb.commit()
    kb.git("sparse-checkout", "set", "--no-cone", "/*", "!/docs")
    assert not os.path.exists(kb.path("docs/b.md"))
    data = kb.json("ingest", "--prune")
    assert (data["unchanged"], data["gone"], data["pruned"]) == (2, [], [])
    assert kb.json("status")["gone"] == []


ODD = [
    b"with space.md",
    b"new\nline.md",
    b'quo"te.md',
    b"back\\slash.md",
    b"tab\t.md",
    b"-dash.md",
    b":(glob)x.md",
    b"*.md",
    b"\xff\xfe.md",
    "é✓.md".encode(),
    b"a--b.md",
    b"CON.md",
    "e\u0301.md".encode(),
]


WORDS = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibex", "jay", "kite", "lynx", "mole"]


@pytest.mark.parametrize("tracked", [True, False])
def test_odd_names(kb, tracked):
    for n, name in enumerate(ODD):
        kb.write(name, f"# Title\n\nA {WORDS[n]}.\n")
    if tracked:
        kb.commit("odd names")
    done = process(kb.top, "ingest", "--json")
    assert (done.code, done.err) == (0, "")
    assert len(kb.documents()) == len(ODD) + 1
    for n, name in enumerate(ODD):
        (hit,) = kb.json("search", WORDS[n])["results"]
        assert (
            git("ls-files", "-z", "--cached", "--others", "--", ":(literal)" + os.fsdecode(name), cwd=kb.top)
            == os.fsdecode(name) + "\0"
        )
        assert kb.run("show", hit["citation"]).code == 0
        assert kb.run("show", "./" + os.fsdecode(name)).code == 0
    data = kb.json("ingest")
    assert (data["unchanged"], data["gone"]) == (len(ODD) + 1, [])
    for name in ODD:
        os.unlink(kb.path(name))
    assert len(kb.json("ingest")["gone"]) == len(ODD)
    assert len(kb.json("ingest", "--prune")["pruned"]) == len(ODD)
    assert kb.documents() == ["a.md"]
    kb.check()


def test_the_json_summary_is_json_whatever_the_names(kb):
    import json
    import subprocess

    from kb import command, process_environ

    kb.write(b"\xff.md", "# T\n\nText.\n")
    kb.write(b"\xfe.md", b"")
    out = subprocess.run(command("ingest", "--json"), cwd=kb.top, capture_output=True, env=process_environ(), check=True).stdout
    data = json.loads(out.decode("utf-8"))
    assert data["new"] == ["a.md", "bytes:%FF.md"]
    assert [s["path"] for s in data["skipped"]] == ["bytes:%FE.md"]


def test_a_name_cannot_forge_a_line_of_ours(kb):
    kb.write(b"x\nwarning: all is lost\x1b[2J.md", b"")
    done = kb.run("ingest")
    assert "\nwarning: all is lost" not in done.err
    assert "\x1b" not in done.err


def test_docids_that_collide_are_refused(kb, monkeypatch):
    from git_kb.ingest import select

    kb.write("b.md", "# B\n\nSecond.\n")
    monkeypatch.setattr(select, "docid_of_path", lambda path: "same")
    assert skipped(kb) == {"b.md": "its document name is taken by 'a.md'"}


def test_naming_many_files_starts_git_no_more_often(kb, monkeypatch):
    """Hook managers name hundreds of files at once."""
    started = []
    spawn = os.posix_spawnp

    def counted(*args, **named):
        started.append(args[1])
        return spawn(*args, **named)

    files = [f"many/m{n:02}.md" for n in range(40)]
    for n, name in enumerate(files):
        kb.write(name, f"# Number {n}\n")
    kb.git("add", "many")
    monkeypatch.setattr(os, "posix_spawnp", counted)
    counts = []
    for chosen in (files[:1], files[1:]):
        started.clear()
        assert kb.run("ingest", "-j1", "--dry-run", *chosen).code == 0
        counts.append(len(started))
    assert counts[0] == counts[1] > 0


def test_resolve_and_inside(kb):
    place = discover(kb.path("").decode())
    assert resolve_path(place, ".") == (b"", True)
    assert resolve_path(place, "a.md") == (b"a.md", False)
    assert resolve_path(place, "./kb/../a.md") == (b"a.md", False)
    assert inside_path(place, "nope/x.md") == b"nope/x.md"
    assert inside_path(place, "../x.md") is None
    assert inside_path(place, "https://example.com/x") is None
    with pytest.raises(NoSuchSource):
        resolve_path(place, "nope")


def test_a_file_that_gits_clean_filter_refuses_is_neither_unchanged_nor_gone(kb):
    kb.ok("ingest")
    kb.commit("base")
    kb.git("config", "filter.f.clean", "false")
    kb.git("config", "filter.f.required", "true")
    kb.write(".gitattributes", "a.md filter=f\nnew.md filter=f\n")
    kb.write("a.md", "# A\n\nAnother text.\n")
    kb.write("new.md", "# New\n\nNot in yet.\n")
    reason = "git cannot read it: clean filter 'f' failed"
    for options in ([], ["-f"]):
        data = kb.json("ingest", *options)
        assert data["skipped"] == [{"path": "a.md", "reason": reason}, {"path": "new.md", "reason": reason}]
        assert (data["unchanged"], data["changed"], data["gone"]) == (0, [], [])
    status = kb.json("status")
    assert (status["stale"], status["gone"]) == (["a.md"], [])
    assert f"warning: skipped 'a.md': {reason}\n" in kb.run("ingest").err
    kb.git("config", "filter.f.clean", "cat")
    assert kb.json("ingest")["changed"] == ["a.md"]
    assert kb.json("status")["stale"] == []


def test_what_is_a_document_stays_up_to_date_whatever_the_patterns_say(kb):
    configure(kb, exclude=["kb*", "kb/**", "drafts/**"])
    names = ["drafts/b.md", "logs/notes.log"]
    for name in (*names, "drafts/other.md", "logs/other.log"):
        kb.write(name, f"About quince, in {name}.\n")
    kb.ok("ingest", *names)
    kb.write("logs/notes.log", "About medlars.\n")
    assert kb.json("status")["stale"] == ["logs/notes.log"]
    assert kb.json("ingest", "drafts")["unchanged"] == 1
    assert kb.json("ingest", "logs")["changed"] == ["logs/notes.log"]
    kb.write("drafts/b.md", "About medlars.\n")
    assert kb.json("ingest")["changed"] == ["drafts/b.md"]
    assert kb.json("status")["stale"] == []
    assert kb.documents() == ["a.md", "drafts--b.md", "logs--notes.log"]
    # What git ignores is refused by name, so it does not come in with its directory either.
    kb.write(".gitignore", "*.log\n")
    kb.write("logs/notes.log", "About sorb apples.\n")
    assert kb.json("ingest")["changed"] == []
