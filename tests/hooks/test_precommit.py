"""The pre-commit hook looks at what is staged, says what does not fit, and changes nothing."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kb import CORPUS, Kb, process_environ

from git_kb.hooks.staged import plain_docid, staged_changes
from git_kb.model.document import docid_of_path

from .hooked import damage, try_commit

GUIDE = "docs/guide.md"


def told(kb, *args, **more):
    """Run the hook; return (exit status, title -> sources it names, its findings' kinds). The index stays as it is."""
    index = kb.read(".git/index") if os.path.exists(kb.path(".git/index")) else b""
    done = kb.run("hooks", "run", "pre-commit", *args, **more)
    assert index == (kb.read(".git/index") if index else b"")
    assert done.out == ""
    lists, kinds, title = {}, [], ""
    for line in done.err.splitlines():
        if line.startswith("\t"):
            lists[title].append(line[1:])
        elif ": these sources are " in line:
            title = line.partition(": these sources are ")[2].partition(",")[0].split()[0].rstrip(":")
            lists[title] = []
        elif line.startswith(("error: ", "warning: ")):
            kinds.append(line.split()[1])
    return done.code, lists, kinds


@pytest.mark.parametrize("mode", ["add", "all", "path", "patch", "amend"])
def test_every_way_to_commit_a_source(hooked, mode):
    """Nothing is staged, whatever index git commits from; and the next commit takes no manifest away."""
    manifests = hooked.manifests()
    hooked.write(GUIDE, "# Guide\n\nAnother text.\n")
    hooked.write("notes.txt", "Not in this commit.\n" if mode in ("path", "add", "patch", "amend") else CORPUS["notes.txt"])
    if mode in ("add", "amend", "patch"):
        hooked.git("add", GUIDE) if mode != "patch" else hooked.git("add", "-p", GUIDE, input=b"y\n")
    made, err = try_commit(hooked, *{"all": ["-a"], "path": ["--", GUIDE], "amend": ["--amend"]}.get(mode, []))
    assert made
    assert "warning: these sources are staged, but their manifests are of another version:\n\tdocs/guide.md\nhint: " in err
    assert "notes.txt" not in err
    assert hooked.git("status", "--porcelain") == ("" if mode == "all" else " M notes.txt")
    hooked.write("other.bin", b"\0")
    hooked.git("add", "other.bin")
    made, err = try_commit(hooked)
    assert (made, err) == (True, "")
    assert hooked.manifests() == manifests
    assert hooked.git("ls-tree", "--name-only", "HEAD", "kb/documents/").count("\n") == len(manifests) - 1


def test_another_file_than_is_staged_counts_as_it_is_staged(hooked):
    """`commit -- path` commits from an index of its own, in which nothing else is staged."""
    hooked.write(GUIDE, "# Guide\n\nStaged.\n")
    hooked.git("add", GUIDE)
    hooked.write(GUIDE, CORPUS[GUIDE])
    assert told(hooked) == (0, {"staged": [GUIDE]}, [])
    hooked.write("other.bin", b"\0")
    hooked.git("add", "-N", "other.bin")
    assert try_commit(hooked, "--", "other.bin") == (True, "")


def test_manifests_that_come_along_are_fine(hooked):
    hooked.write(GUIDE, "# Guide\n\nAnother text.\n")
    hooked.write("docs/new.md", "# New\n")
    hooked.ok("ingest", "-q")
    hooked.git("add", "-A")
    assert told(hooked) == (0, {}, [])
    assert try_commit(hooked) == (True, "")


def test_what_is_told_of_sources(kb):
    kb.write("src/more.py", "x = 1\n")
    kb.commit()  # in a directory with documents, and left out of them by its owner
    kb.write(GUIDE, "# Guide\n")
    kb.ok("ingest", "-q", GUIDE)
    kb.git("add", "kb")
    assert told(kb) == (0, {"not": [GUIDE]}, [])
    kb.git("add", GUIDE)
    assert told(kb) == (0, {}, [])
    kb.git("rm", "-q", "notes.txt")
    kb.write("src/more.py", "x = 2\n")
    kb.write("src/weigh.py", "x = 3\n")
    kb.git("add", "src")
    assert told(kb) == (0, {"staged": ["src/weigh.py"], "deleted": ["notes.txt"]}, [])
    kb.git("rm", "-q", "kb/documents/notes.txt.toml")
    assert told(kb) == (0, {"staged": ["src/weigh.py"]}, [])


def test_new_files_are_told_where_there_are_documents(tmp_path, program):
    """Who has ingested docs alone is not told of each new source file; a new directory is as the one it is in."""
    kb = Kb.create(tmp_path / "r", {"docs/a.md": "# A\n", "src/x.py": "x = 1\n", "docs/--odd/b.md": "# B\n"})
    kb.ok("init", "-q")
    kb.ok("ingest", "-q", "docs")
    kb.commit()
    for name in ("docs/new.md", "docs/deep/er/new.md", "docs/--odd/new.md", "src/y.py", "src/deep/z.py", "top.md", "fresh/a.md"):
        kb.write(name, "# New\n")
    kb.write("docs/binary.md", b"\0\1\2")
    kb.write("docs/empty.md", "")
    kb.write("docs/picture.png", b"\x89PNG")
    kb.git("add", "-A")
    assert told(kb) == (0, {"new": ["docs/--odd/new.md", "docs/deep/er/new.md", "docs/new.md"]}, [])
    kb.ok("ingest", "-q", "top.md")
    kb.git("add", "-A")
    assert told(kb)[1]["new"] == ["docs/--odd/new.md", "docs/deep/er/new.md", "docs/new.md", "fresh/a.md"]


def test_the_staged_configuration_counts(kb):
    config = json.loads(kb.read("kb.config.json"))
    config["sources"]["exclude"] = ["docs/**"]
    kb.write("kb.config.json", json.dumps(config))
    kb.write("docs/new.md", "# New\n")
    kb.git("add", "docs")
    assert told(kb) == (0, {"new": ["docs/new.md"]}, [])
    kb.git("add", "-A")
    assert told(kb) == (0, {}, [])


def change(old, new):
    return lambda data: data.replace(old, new, 1)


MANIFEST = "kb/documents/docs--guide.md.toml"
FAULTS = [
    (MANIFEST, lambda data: data[: len(data) // 2], "damaged_manifest", True),
    (MANIFEST, lambda data: b"<<<<<<< ours\n" + data, "damaged_manifest", True),
    (MANIFEST, lambda data: data + b"\xff\n", "damaged_manifest", True),
    (MANIFEST, lambda data: b"", "damaged_manifest", True),
    (MANIFEST, change(b"n_bytes = ", b"n_bytes = 9"), "wrong_tiling", True),
    (MANIFEST, lambda data: data.replace(b'source_key = "', b'source_key = "0', 1), "wrong_key", True),
    (MANIFEST, change(b'heading = ["Guide"', b'heading = ["Guido"'), "wrong_key", True),
    (MANIFEST, change(b"format = 1", b"format = 99"), "newer_format", False),
    (MANIFEST, change(b'kbid = "', b'kbid = "aaaa'), "damaged_manifest", True),
    ("kb/catalog.toml", change(b"format = 1", b"format = x"), "damaged_catalog", True),
    ("kb/catalog.toml", change(b"format = 1", b"format = 2"), "newer_format", False),
    ("kb.config.json", lambda data: data[:-5], "damaged_config", True),
]


@pytest.mark.parametrize(("path", "make", "kind", "stops"), FAULTS)
def test_faults_in_staged_files(kb, path, make, kind, stops):
    kb.write(path, make(kb.read(path)))
    assert told(kb) == (0, {}, [])
    kb.git("add", "-A")
    code, lists, kinds = told(kb)
    assert (code, lists) == (int(stops), {})
    assert kind in kinds
    assert told(kb, "--stop-code", "3")[0] == (3 if stops else 0)
    kb.git("config", "kb.hookStrict", "true")
    assert told(kb)[0] == 1


def test_a_missing_section_is_told(kb):
    data = kb.read(MANIFEST)
    kbid = data.partition(b'kbid = "')[2][:26]
    kb.write(MANIFEST, data.replace(kbid, b"a" * 26))
    kb.git("add", "-A")
    assert told(kb) == (0, {}, ["orphan_document", "wrong_range"])
    # A clone that has not searched yet has no sections at all.
    kb.git("update-ref", "-d", "refs/kb/sections")
    assert told(kb) == (0, {}, ["wrong_range"])


def test_a_damaged_commit_is_stopped_and_can_be_forced(hooked):
    damage(hooked)
    made, err = try_commit(hooked)
    assert not made
    assert err.startswith("error: damaged_manifest kb/documents/docs--guide.md.toml: ")
    assert err.endswith("hint: 'git commit --no-verify' commits all the same\n")
    assert try_commit(hooked, "--no-verify")[0]
    assert "hint" not in hooked.run("hooks", "run", "pre-commit", GIT_ADVICE="0").err
    # It is in HEAD now: whoever changes the source is told, and not stopped.
    hooked.write(GUIDE, "# Guide\n")
    hooked.git("add", GUIDE)
    assert told(hooked) == (0, {"staged": [GUIDE]}, [])


def test_strict_stops_a_commit_without_its_manifest(hooked):
    hooked.git("config", "kb.hookStrict", "true")
    hooked.write(GUIDE, "# Guide\n")
    made, err = try_commit(hooked, "-a")
    assert not made
    assert err.startswith("error: these sources are staged")
    hooked.ok("ingest", "-q")
    assert try_commit(hooked, "-a") == (True, "")


@pytest.mark.parametrize("key", ["kb.hookStrict", "kb.autoIngest"])
def test_a_setting_that_makes_no_sense_is_told(hooked, key):
    hooked.git("config", key, "perhaps")
    hooked.write(GUIDE, "# Guide\n")
    made, err = try_commit(hooked, "-a")
    assert made
    assert f"bad value 'perhaps' for '{key.lower()}'" in err or f"bad boolean config value 'perhaps' for '{key.lower()}'" in err


def test_before_the_first_commit(tmp_path, program):
    kb = Kb.create(tmp_path / "r", {})
    kb.ok("hooks", "install", "-q")
    kb.write(GUIDE, CORPUS[GUIDE])
    kb.git("add", "-A")
    assert told(kb) == (0, {}, [])
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    kb.git("add", "-A")
    assert told(kb) == (0, {}, [])
    kb.write(GUIDE, "# Other\n")
    kb.write("docs/new.md", "# New\n")
    kb.git("add", "docs")
    assert told(kb) == (0, {"staged": [GUIDE]}, [])
    assert try_commit(kb)[0]


def test_a_branch_without_a_knowledge_base(hooked):
    hooked.git("switch", "-q", "--orphan", "pages")
    hooked.write(GUIDE, "# Guide\n")
    hooked.git("add", GUIDE)
    assert try_commit(hooked) == (True, "")


def test_sha256(tmp_path, program):
    kb = Kb.ready(tmp_path / "r", object_format="sha256")
    kb.ok("hooks", "install", "-q")
    kb.write(GUIDE, "# Guide\n")
    made, err = try_commit(kb, "-a")
    assert made
    assert "\tdocs/guide.md\n" in err
    damage(kb)
    assert not try_commit(kb)[0]


def test_odd_names(tmp_path, program):
    names = [
        b"with space.md",
        b"new\nline.md",
        b'quo"te.md',
        b"-dash.md",
        b":(glob)x.md",
        b"\xff.md",
        "é.md".encode(),
        b"a--b.md",
        b"con.md",
    ]
    kb = Kb.ready(tmp_path / "r", dict.fromkeys(names, b"# One\n"))
    kb.ok("hooks", "install", "-q")
    for name in names:
        kb.write(name, b"# Two\n")
    kb.git("add", "-A")
    code, lists, kinds = told(kb)
    assert (code, list(lists), kinds, len(lists["staged"])) == (0, ["staged"], [], len(names))
    assert try_commit(kb)[0]
    kb.ok("ingest", "-q")
    kb.git("rm", "-q", "--cached", "-r", ".")
    assert told(kb) == (0, {}, [])


USUAL = ["notes.txt", "docs/a b.md", "docs/guide.md", "é.md", "src/deep/er/x.py"]
ODD = [
    "con.md",
    "a--b.md",
    "-dash.md",
    "docs/x-/y.md",
    "url/x.md",
    "new\nline.md",
    "tab\t.md",
    "trailing.md ",
    "e\u0301.md",
    "a" * 160 + ".md",
]


CASES = [
    *((name, "modify", quote) for name in [*USUAL, *ODD] for quote in ("true", "false")),
    *((name, operation, "true") for name in ("docs/guide.md", "con.md") for operation in ("delete", "chmod")),
]


@pytest.mark.parametrize(("name", "operation", "quote"), CASES)
def test_the_script_itself_passes_over_no_source(tmp_path, program, name, operation, quote):
    """It decides without us on files that have no manifest."""
    kb = Kb.create(tmp_path / "r", {name: "# One\n", "other.bin": b"\0"})
    kb.ok("init", "-q")
    kb.ok("ingest", "-q", "--", name)
    kb.ok("hooks", "install", "-q")
    kb.git("config", "core.quotePath", quote)
    kb.commit("all")
    n_started = len(program())
    kb.write("other.bin", b"\0\0")
    assert try_commit(kb, "-a") == (True, "")
    if operation == "modify":
        kb.write(name, "# Two\n")
    elif operation == "delete":
        os.unlink(kb.path(name))
    else:
        os.chmod(kb.path(name), 0o755)
    made, err = try_commit(kb, "-a")
    assert made
    assert ("these sources are" in err) == (operation != "chmod")
    assert len(program()) > n_started


def test_a_commit_of_other_files_starts_no_program(hooked, program):
    """Each commit waits for the hook: what has no manifest and is not new takes a few milliseconds."""
    for name in ("src/deep/main.zig", "with space.zig", "top.zig"):
        hooked.write(name, "1\n")
    hooked.commit()
    n_started = len(program())
    for name in ("src/deep/main.zig", "with space.zig"):
        hooked.write(name, "2\n")
    os.unlink(hooked.path("top.zig"))
    assert try_commit(hooked, "-a") == (True, "")
    assert len(program()) == n_started


def test_many_files(kb):
    for n in range(600):
        kb.write(f"docs/{n}.bin", b"\0")
    kb.write(GUIDE, "# Guide\n")
    kb.git("add", "-A")
    assert told(kb) == (0, {"staged": [GUIDE]}, [])
    kb.git("rm", "-q", "--cached", GUIDE)
    for n in range(30):
        kb.write(f"docs/{n}.md", "# Page\n")
    kb.git("add", "-A")
    lists = told(kb)[1]
    assert len(lists["new"]) == 21
    assert lists["new"][-1] == "and 10 more"


def test_a_huge_commit_is_looked_at_in_part(kb, monkeypatch):
    monkeypatch.setattr("git_kb.hooks.check.MAX_MANIFESTS", 1)
    kb.write(MANIFEST, b"")
    kb.write("kb/documents/src--weigh.py.toml", b"")
    kb.git("add", "-A")
    done = kb.run("hooks", "run", "pre-commit")
    assert done.code == 1
    assert "warning: 1 more staged manifest was not looked at" in done.err


def test_staged_changes_are_those_of_git(kb):
    kb.write("new.md")
    kb.write(GUIDE, "# Guide\n")
    os.unlink(kb.path("notes.txt"))
    os.chmod(kb.path("src/weigh.py"), 0o755)
    os.symlink("new.md", kb.path("link"))
    kb.git("add", "-A")
    found = {c.path.decode(): (bool(c.old), bool(c.new), f"{c.mode:o}", c.is_file) for c in staged_changes(kb.place())}
    assert found == {
        "new.md": (False, True, "100644", True),
        GUIDE: (True, True, "100644", True),
        "notes.txt": (True, False, "0", False),
        "src/weigh.py": (True, True, "100755", True),
        "link": (False, True, "120000", False),
    }


@given(st.lists(st.text("abcon.-_~ A1é", max_size=6), min_size=1, max_size=5).map("/".join))
@example("con/a.md")
@example("docs/Aux.x/a")
@example("url/a.md")
@example("a" * 75)
@example("a" * 76)
def test_the_quick_docid_is_the_docid(path):
    """Where there is one: with it, the usual commit needs no more than a look by git."""
    quick = plain_docid(path.encode())
    assert quick in (b"", docid_of_path(path.encode()).encode())


def test_usual_paths_have_a_quick_docid():
    for path in ("docs/guide.md", "README.md", "src/a_b/c+d.py", ".github/workflows/ci.yml", "a/b/c/d/e.txt"):
        assert plain_docid(path.encode()).decode() == docid_of_path(path.encode())


@settings(max_examples=15)
@given(data=st.one_of(st.binary(max_size=80), st.text(max_size=80).map(str.encode)), cut=st.integers(0, 200))
def test_any_staged_bytes_are_told_or_fine(tmp_path_factory, data, cut):
    """A cloned branch may hold anything."""
    kb = Kb.copy(tmp_path_factory.getbasetemp() / "any-bytes-model", tmp_path_factory.mktemp("any") / "kb")
    old = kb.read(MANIFEST)
    for name in (MANIFEST, "kb/documents/other.toml", "kb.config.json", "kb/catalog.toml"):
        kb.write(name, old[:cut] + data)
        kb.git("add", name)
        assert told(kb)[0] in (0, 1)


PROGRAM = """
import sys
before = set(sys.modules)
from git_kb.cli.main import main
code = main(["hooks", "run", *sys.argv[1:]])
sys.stdout.flush()
names = sorted(set(sys.modules) - before)
import json
json.dump([code, names], sys.stderr)
"""
HEAVY = {
    "argparse", "ast", "dataclasses", "datetime", "dulwich", "hashlib", "inspect", "json", "multiprocessing", "pygit2", "re", "secrets",
    "shutil", "signal", "socket", "subprocess", "tempfile", "tomllib", "typing", "unicodedata",
}  # fmt: skip


def imported(kb, *args, **environ):
    done = subprocess.run([sys.executable, "-c", PROGRAM, *args], cwd=kb.top, capture_output=True, env=process_environ(**environ))
    code, names = json.loads(done.stderr.splitlines()[-1])
    return code, set(names)


@pytest.mark.parametrize("path", ["src/main.zig", "Some.File-1/x.bin"])
def test_a_commit_of_no_source_imports_little(kb, path):
    """Each commit waits for it (docs/hooks.md)."""
    kb.write(path, b"\0 1")
    kb.commit()
    kb.write(path, b"\0 2")
    kb.git("add", path)
    code, names = imported(kb, "pre-commit")
    assert (code, names & HEAVY) == (0, set())
    assert {n for n in names if n.startswith("git_kb.")} <= {
        "git_kb.errors", "git_kb.cli", "git_kb.cli.main", "git_kb.cli.env", "git_kb.cli.quickhook", "git_kb.repo", "git_kb.repo.discover",
        "git_kb.repo.spawn", "git_kb.hooks", "git_kb.hooks.staged", "git_kb.store", "git_kb.store.root",
    }  # fmt: skip
    kb.write(GUIDE, "# Guide\n")
    kb.git("add", GUIDE)
    assert imported(kb, "pre-commit")[1] >= {"argparse", "git_kb.hooks.check"}
