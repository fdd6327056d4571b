"""The drivers under real git: every operation that merges, and every way in which a driver can fail."""

import os
import random
import shlex
import shutil
import stat
import sys

import pytest
from kb import ROOT, Kb, git

from git_kb.store.drivers import COMMAND
from git_kb.store.manifest import parse_manifest

DOC = "docs/a.md"
MANIFEST = "kb/documents/docs--a.md.toml"
SECTIONS = {"Install": "Set the hive.", "Feed": "Feed syrup.", "Swarm": "Catch the swarm.", "Winter": "Wrap the hive."}
BASE = "# Guide\n\nHow to keep bees.\n\n" + "".join(f"## {head}\n\n{words}\n\n" for head, words in SECTIONS.items())
# What git kb does in the place of the driver.
FAILURES = {
    "missing": "exit 127",
    "traceback": "exec {python} -c 'import git_kb.no_such_module'",
    "killed": "kill -SEGV $$",
    "usage": "exit 129",
}


def program(directory, script):
    """Put a `git-kb` on PATH."""
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, "git-kb")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{script}\n")
    os.chmod(path, stat.S_IRWXU)


@pytest.fixture
def bin_(tmp_path, monkeypatch):
    """The directory of a `git-kb` that runs this one and counts how often."""
    directory = tmp_path / "bin"
    log = shlex.quote(str(tmp_path / "calls"))
    program(directory, f'echo "$2" >>{log}; PYTHONPATH={shlex.quote(ROOT)} exec {shlex.quote(sys.executable)} -m git_kb "$@"')
    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")
    return directory


def calls(tmp_path):
    try:
        return (tmp_path / "calls").read_text().split()
    except FileNotFoundError:
        return []


@pytest.fixture
def kb(tmp_path, bin_):
    return Kb.ready(tmp_path / "r", {DOC: BASE})


def edit(kb, *changes, message="edit"):
    """Change the document, ingest and commit."""
    text = kb.read(DOC).decode()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    kb.write(DOC, text)
    kb.ok("ingest", "-q")
    return kb.commit(message)


def two_branches(kb, ours, theirs):
    git("switch", "-q", "-c", "theirs", cwd=kb.top)
    edit(kb, theirs)
    git("switch", "-q", "main", cwd=kb.top)
    edit(kb, ours)


def read_manifest(kb, name=MANIFEST):
    return parse_manifest(kb.read(name).decode(), os.path.basename(name))


def settle(kb):
    """Ingest again and see that all is as if the source had been cut on one branch."""
    kb.ok("ingest", "-q", DOC)
    merged = read_manifest(kb)
    kb.commit("ingested again")
    kb.check()
    one = Kb.ready(os.path.dirname(kb.top) + "/one", {DOC: kb.read(DOC)})
    cut = read_manifest(one)
    assert [row._replace(supersedes="") for row in merged.sections] == list(cut.sections)
    assert (merged.blob, merged.title) == (cut.blob, cut.title)


HERE, THERE = ("Set the hive.", "Set the hive level."), ("Wrap the hive.", "Wrap the hive well.\n\n## Spring\n\nClean it.")


def test_edits_of_two_sections_merge_clean(kb, tmp_path):
    two_branches(kb, HERE, THERE)
    git("merge", "-q", "-m", "merge", "theirs", cwd=kb.top)
    assert calls(tmp_path) == ["manifest"]
    assert len(read_manifest(kb).sections) == 6
    kb.check()
    assert DOC in kb.ok("status")
    assert kb.hits("clean")
    settle(kb)


def test_a_merged_document_needs_no_pool(kb):
    """Its sections are made again from the source that git merged, though its blob is none."""
    two_branches(kb, HERE, THERE)
    git("merge", "-q", "-m", "merge", "theirs", cwd=kb.top)
    assert set(read_manifest(kb).blob) == {"0"}
    kb.git("update-ref", "-d", "refs/kb/sections")
    shutil.rmtree(kb.path(".git/kb"), ignore_errors=True)
    assert len(kb.hits("clean")) == len(kb.hits("level")) == 1
    assert kb.json("status")["not_indexed"] == 0


def test_one_section_edited_on_both_sides(kb):
    two_branches(kb, ("Feed syrup.", "Feed syrup in spring."), ("Feed syrup.", "Feed sugar."))
    git("merge", "-q", "theirs", cwd=kb.top, check=False)
    # The source is for a person to settle, the manifest has both until it is ingested again.
    assert kb.git("diff", "--name-only", "--diff-filter=U") == DOC
    assert [row.conflict for row in read_manifest(kb).sections] == ["", "", "changed", "changed", "", ""]
    kb.write(DOC, BASE.replace("Feed syrup.", "Feed syrup or sugar."))
    kb.git("add", DOC)
    settle(kb)


def test_what_two_people_set_is_a_conflict_with_markers(kb):
    git("switch", "-q", "-c", "theirs", cwd=kb.top)
    kb.ok("ingest", "-q", "-f", "--tier", "A", DOC)
    kb.commit()
    git("switch", "-q", "main", cwd=kb.top)
    kb.ok("ingest", "-q", "-f", "--tier", "S", "--tag", "bees", DOC)
    kb.commit()
    kb.git("config", "merge.conflictStyle", "diff3")
    git("merge", "-q", "theirs", cwd=kb.top, check=False)
    assert kb.git("ls-files", "-u", "--", MANIFEST)
    text = kb.read(MANIFEST).decode()
    assert '<<<<<<< ours\ntier = "S"\n||||||| base\n=======\ntier = "A"\n>>>>>>> theirs\ntags = ["bees"]\n' in text
    assert "[[sections]]" in text


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("conflict", [False, True])
def test_a_driver_that_fails_leaves_the_work_to_git(kb, tmp_path, bin_, failure, conflict):
    """The merge is git's own, with markers where it is one; never our version alone."""
    tiers = ("S", "A") if conflict else ("", "A")
    git("switch", "-q", "-c", "theirs", cwd=kb.top)
    kb.ok("ingest", "-q", "-f", "--tier", tiers[1], DOC)
    kb.commit()
    git("switch", "-q", "main", cwd=kb.top)
    edit(kb, HERE)
    if conflict:
        kb.ok("ingest", "-q", "-f", "--tier", tiers[0], DOC)
        kb.commit()
    program(bin_, FAILURES[failure].format(python=shlex.quote(sys.executable)))
    git("merge", "-q", "-m", "merge", "theirs", cwd=kb.top, check=False)
    text = kb.read(MANIFEST).decode()
    assert 'tier = "A"' in text
    assert ("<<<<<<< ours\n" in text) == conflict == bool(kb.git("ls-files", "-u"))
    if conflict:
        assert ">>>>>>> theirs\n" in text
    else:
        assert read_manifest(kb).tier == "A"
    assert kb.git("status", "--porcelain", "--", ".merge*", "*.tmp") == ""


def test_no_git_kb_at_all(kb, bin_):
    os.unlink(bin_ / "git-kb")
    git("switch", "-q", "-c", "theirs", cwd=kb.top)
    kb.ok("ingest", "-q", "-f", "--tier", "A", DOC)
    kb.commit()
    git("switch", "-q", "main", cwd=kb.top)
    edit(kb, HERE)
    git("merge", "-q", "-m", "merge", "theirs", cwd=kb.top)
    assert read_manifest(kb).tier == "A"


def test_a_failure_after_reading_leaves_ours_as_it_was(kb, tmp_path):
    """A result that cannot be written is none: the file is whole, the status neither 0 nor 3."""
    for name in ("base", "ours", "theirs"):
        (tmp_path / name).write_text(name)
    done = kb.run(
        "merge-driver", "manifest", "--marker-size=7", "--path=x", "--", *(str(tmp_path / n) for n in ("base", "ours", "no"))
    )
    assert done.code == 128
    assert (tmp_path / "ours").read_text() == "ours"
    assert "no" in done.err


@pytest.mark.parametrize(
    "arguments",
    [("x",), ("manifest", "--marker-size=0", "a", "b", "c"), ("manifest", "--marker-size=x", "a", "b", "c"), ("page", "a", "b")],
)
def test_a_wrong_command_line_is_neither_clean_nor_a_conflict(kb, arguments):
    assert kb.run("merge-driver", *arguments).code == 129


def test_both_ways_of_the_command_line_do_the_same(kb, tmp_path):
    texts = {"base": "# T\n", "ours": "# O\n", "theirs": "# H\n"}
    results = []
    for arguments in (["--marker-size=9", "--path=a b", "--"], ["--path", "a b", "--marker-size", "9"]):
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        done = kb.run("merge-driver", "page", *arguments, *(str(tmp_path / name) for name in texts))
        results.append((done, (tmp_path / "ours").read_text()))
    assert results[0] == results[1]
    assert results[0][0].code == 3
    assert results[0][1] == "<<<<<<<<< ours\n# O\n=========\n# H\n>>>>>>>>> theirs\n"


def test_rebase(kb, tmp_path):
    two_branches(kb, HERE, THERE)
    git("rebase", "-q", "theirs", cwd=kb.top)
    assert "manifest" in calls(tmp_path)
    settle(kb)


def test_cherry_pick_and_revert(kb, tmp_path):
    two_branches(kb, HERE, THERE)
    git("cherry-pick", "theirs", cwd=kb.top)
    assert "manifest" in calls(tmp_path)
    git("revert", "--no-edit", "HEAD^", cwd=kb.top)
    assert "Set the hive.\n" in kb.read(DOC).decode()
    assert "Clean it." in kb.read(DOC).decode()
    settle(kb)


def test_stash_pop(kb, tmp_path):
    kb.write(DOC, BASE.replace(*THERE))
    kb.ok("ingest", "-q")
    git("stash", "-q", cwd=kb.top)
    edit(kb, HERE)
    git("stash", "pop", "-q", cwd=kb.top)
    assert "manifest" in calls(tmp_path)
    settle(kb)


def test_criss_cross(kb, tmp_path):
    """Two merge bases: git merges them first, with our driver too."""
    two_branches(kb, HERE, THERE)
    one, two = kb.git("rev-parse", "main"), kb.git("rev-parse", "theirs")
    git("merge", "-q", "-m", "one", two, cwd=kb.top)
    edit(kb, ("Feed syrup.", "Feed syrup in spring."))
    git("switch", "-q", "theirs", cwd=kb.top)
    git("merge", "-q", "-m", "two", one, cwd=kb.top)
    edit(kb, ("Catch the swarm.", "Catch the swarm in May."))
    assert len(kb.git("merge-base", "--all", "main", "theirs").split()) == 2
    before = len(calls(tmp_path))
    git("merge", "-q", "-m", "three", "main", cwd=kb.top)
    assert len(calls(tmp_path)) >= before + 2
    settle(kb)


def test_added_on_both_sides_and_odd_names(kb, tmp_path):
    name = 'docs/it\'s a "name" $HOME.md'
    git("switch", "-q", "-c", "theirs", cwd=kb.top)
    kb.write(name, BASE)
    kb.ok("ingest", "-q", "--tag", "theirs", name)
    kb.commit()
    git("switch", "-q", "main", cwd=kb.top)
    kb.write(name, BASE)
    kb.ok("ingest", "-q", "--tag", "ours", name)
    kb.commit()
    git("merge", "-q", "-m", "merge", "theirs", cwd=kb.top)
    assert calls(tmp_path) == ["manifest"]
    manifest = next(n for n in kb.manifests() if "it" in n)
    assert read_manifest(kb, f"kb/documents/{manifest}").tags == ("ours", "theirs")
    assert "0 new, 0 changed" in kb.run("ingest").err


def test_moved_on_one_side_edited_on_the_other(kb, tmp_path):
    git("switch", "-q", "-c", "theirs", cwd=kb.top)
    edit(kb, THERE)
    git("switch", "-q", "main", cwd=kb.top)
    git("mv", DOC, "docs/b.md", cwd=kb.top)
    kb.ok("ingest", "-q", "--prune")
    kb.commit()
    git("merge", "-q", "-m", "merge", "theirs", cwd=kb.top)
    assert calls(tmp_path) == ["manifest"]
    merged = read_manifest(kb, "kb/documents/docs--b.md.toml")
    assert (merged.source, merged.moved_from) == ("docs/b.md", DOC)
    assert "0 new, 0 changed" in kb.run("ingest", "--prune").err
    kb.check()


def test_pages_and_index_pages(kb, tmp_path):
    page = "---\ntags: [a]\n---\n# T\n\n## Claims\n- One — c-01\n\n<!-- human notes below -->\n\nMine.\n"
    index = "# Index\n\n- [a](a.md) — A\n- [d](d.md) — D\n"
    kb.write("kb/wiki/concepts/t.md", page)
    kb.write("kb/wiki/index.md", index)
    kb.commit()
    for branch, claim, entry in (("theirs", "- Theirs — c-0b", "- [b](b.md) — B"), ("ours", "- Ours — c-0a", "- [c](c.md) — C")):
        git("switch", "-q", "-c", branch, "main", cwd=kb.top)
        kb.write("kb/wiki/concepts/t.md", page.replace("- One — c-01\n", f"- One — c-01\n{claim}\n"))
        kb.write("kb/wiki/index.md", index.replace("- [d]", f"{entry}\n- [d]"))
        kb.commit()
    git("merge", "-q", "-m", "merge", "theirs", cwd=kb.top)
    assert sorted(calls(tmp_path)) == ["index", "page"]
    assert "- One — c-01\n- Ours — c-0a\n- Theirs — c-0b\n" in kb.read("kb/wiki/concepts/t.md").decode()
    assert kb.read("kb/wiki/index.md").decode() == "# Index\n\n" + "".join(f"- [{n}]({n}.md) — {n.upper()}\n" for n in "abcd")


def test_merge_tree(kb, tmp_path):
    two_branches(kb, HERE, THERE)
    if not git("merge-tree", "--write-tree", "main", "theirs", cwd=kb.top, check=False):
        pytest.skip("git before 2.38 merges no trees without a work tree")
    assert calls(tmp_path) == ["manifest"]


@pytest.mark.parametrize("seed", range(int(os.environ.get("GIT_KB_DRIVER_HISTORIES", "12"))))
def test_random_edits_of_one_document(kb, seed, tmp_path):
    """Whatever two branches do to one document: no markers in its manifest, no section lost, and all well after an ingest."""
    rng = random.Random(seed)

    def some_edits(name):
        for n in range(rng.randint(1, 2)):
            parts = kb.read(DOC).decode().split("\n## ")
            at = rng.randint(1, len(parts) - 1)
            what = rng.choice(["add", "add", "edit", "edit", "delete", "rename", "move"])
            if what == "add":
                parts.insert(at, f"{name.title()} {n}\n\nWords of {name} {n}.\n")
            elif what == "edit":
                parts[at] += f"\nMore of {name} {n}.\n"
            elif what == "delete" and len(parts) > 3:
                del parts[at]
            elif what == "rename":
                parts[at] = f"New {parts[at]}"
            else:
                parts.insert(rng.randint(1, len(parts) - 1), parts.pop(at))
            edit(kb, (kb.read(DOC).decode(), "\n## ".join(parts)))

    base = {row.kbid for row in read_manifest(kb).sections}
    git("switch", "-q", "-c", "theirs", cwd=kb.top)
    some_edits("theirs")
    theirs = {row.kbid for row in read_manifest(kb).sections}
    git("switch", "-q", "main", cwd=kb.top)
    some_edits("ours")
    ours = {row.kbid for row in read_manifest(kb).sections}
    git("merge", "-q", "-m", "merge", "theirs", cwd=kb.top, check=False)
    merged = read_manifest(kb)
    assert {row.kbid for row in merged.sections} >= (ours - base) | (theirs - base) | (ours & theirs)
    assert kb.git("ls-files", "-u", "--", MANIFEST) == ""
    if kb.git("ls-files", "-u"):
        # Both sides changed the same lines of the source: a person keeps both.
        kb.write(
            DOC, "".join(line for line in kb.read(DOC).decode().splitlines(True) if not line.startswith(("<<<<", "====", ">>>>")))
        )
        kb.git("add", DOC)
    kb.check()
    settle(kb)


def test_the_command_is_the_one_that_was_tested():
    """The shell text, written out: 0 and 3 are ours, anything else is git merge-file's."""
    assert COMMAND.format(kind="page") == (
        "git kb merge-driver page --marker-size=%L --path=%P -- %O %A %B; r=$?; case $r in 0) exit 0;; 3) exit 1;; esac; "
        "exec git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B"
    )
