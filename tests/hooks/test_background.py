"""What runs after commits, merges, checkouts and rebases: detached, one at a time, and never in the way."""

import json
import os
import subprocess
import sys
import time

import pytest
from kb import Kb, process_environ

from git_kb.hooks.script import UNDERWAY
from git_kb.hooks.warm import NOTES, ask, warm_all
from git_kb.repo.lockfile import WriterLock, file_lock
from git_kb.store.viewfile import current_view

from .hooked import put_hook

GUIDE = "docs/guide.md"
PATIENCE_S = 60


def wait_for(condition, what="it"):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def is_warm(kb):
    opened = current_view(kb.place())
    if opened is not None:
        opened[0].close()
        opened[1].close()
    return opened is not None


def drop_index(kb):
    for name in os.listdir(kb.path(".git/kb/views")):
        os.unlink(os.path.join(kb.path(".git/kb/views"), name))
    assert not is_warm(kb)


def change(kb, text="# Guide\n\nAnother text.\n"):
    kb.write(GUIDE, text)
    kb.ok("ingest", "-q", "--no-index")
    kb.git("add", "-A")


def test_a_commit_warms_the_index(hooked):
    change(hooked)
    assert not is_warm(hooked)
    hooked.git("commit", "-q", "-m", "x")
    wait_for(lambda: is_warm(hooked))
    wait_for(lambda: not os.listdir(hooked.path(f".git/kb/{NOTES}").decode()))
    hooked.check()


OPERATIONS = {
    "switch": (["switch", "-q", "-c", "side", "HEAD^"], "post-checkout"),
    "checkout a path": (["checkout", "-q", "HEAD^", "--", "kb"], "post-checkout"),
    "merge": (["merge", "-q", "--no-ff", "-m", "m", "other"], "post-merge"),
    "rebase": (["rebase", "-q", "other"], "post-rewrite"),
    "amend": (["commit", "-q", "--amend", "-m", "y"], "post-commit"),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_other_operations_warm_it_too(kb, operation):
    args, hook = OPERATIONS[operation]
    kb.git("switch", "-q", "-c", "other")
    kb.write("notes.txt", "Swarms.\n")
    kb.ok("ingest", "-q")
    kb.commit()
    kb.git("switch", "-q", "main")
    change(kb)
    kb.commit()
    kb.ok("hooks", "install", "-q")
    drop_index(kb)
    kb.git(*args)
    wait_for(lambda: is_warm(kb))
    assert hook in OPERATIONS[operation]


def test_a_linked_work_tree_is_warmed_as_itself(kb, tmp_path):
    linked = Kb(tmp_path / "linked")
    kb.git("worktree", "add", "-q", "-b", "work", linked.top)
    kb.ok("hooks", "install", "-q")
    linked.write(GUIDE, "# Guide\n\nOf the linked one.\n")
    linked.ok("ingest", "-q", "--no-index")
    linked.git("commit", "-q", "-a", "-m", "x")
    wait_for(lambda: is_warm(linked))
    assert linked.hits("linked") == linked.hits("linked one")


def test_nobody_waits_for_the_warmer(hooked):
    """It waits for the writer's lock, while who reads the commit's output to its end has it."""
    change(hooked)
    with WriterLock(hooked.path(".git/kb/lock").decode(), "test"):
        for command in ("git commit -q -m x 2>&1 | cat", "git kb hooks run post-commit 3>&1 4>&1 2>&1 | cat"):
            begin = time.monotonic()
            done = subprocess.run(command, shell=True, cwd=hooked.top, capture_output=True, timeout=PATIENCE_S)
            took = time.monotonic() - begin
            assert (done.stdout, done.stderr) == (b"", b"")
            # The lock is waited for 10 s long.
            assert took < 6
        wait_for(lambda: os.path.exists(hooked.path(".git/kb/warm.lock")))
        assert not is_warm(hooked)
    wait_for(lambda: is_warm(hooked))


DETACHED = """
import json, os, sys
from git_kb.repo.spawn import detach
report = sys.argv[1]
os.pipe()
extra, _ = os.pipe()
os.set_inheritable(extra, True)
if detach():
    try:
        with open(report + ".new", "w") as file:
            listed = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
            links = [os.readlink("/proc/self/fd/" + fd) for fd in listed if os.path.exists("/proc/self/fd/" + fd)]
            json.dump([os.getsid(0), os.getpgid(0), os.getcwd(), os.getppid(), links], file)
        os.rename(report + ".new", report)
    finally:
        os._exit(0)
try:
    os.waitpid(-1, 0)
    print("a child is left")
except ChildProcessError:
    print(os.getsid(0), os.getpid(), os.getcwd())
"""


def test_a_detached_process_has_nothing_of_its_callers(tmp_path):
    report = tmp_path / "report"
    done = subprocess.run(
        [sys.executable, "-c", DETACHED, report], capture_output=True, text=True, env=process_environ(), cwd=tmp_path
    )
    sid, pid, cwd = done.stdout.split()
    wait_for(report.exists)
    detached_sid, group, detached_cwd, parent, files = json.loads(report.read_text())
    assert detached_sid not in (int(sid), int(pid))
    assert group == detached_sid
    assert parent != int(pid)
    assert (cwd, detached_cwd) == (str(tmp_path), "/")
    assert {f for f in files if "/proc/" not in f} <= {"/dev/null", f"{report}.new"}


def test_one_warmer_at_a_time(kb):
    drop_index(kb)
    lock = kb.path(".git/kb/warm.lock").decode()
    with file_lock(lock) as held:
        assert held
        with file_lock(lock) as again:
            assert not again
        assert kb.run("hooks", "run", "post-commit").code == 0
        notes = kb.path(f".git/kb/{NOTES}").decode()
        wait_for(lambda: os.path.isdir(notes) and "main" in os.listdir(notes))
        time.sleep(0.3)
        assert not is_warm(kb)
    # What was asked for is not forgotten.
    places = []
    assert warm_all(kb.place().kb_dir, places.append) == 1
    assert [place.work_tree for place in places] == [kb.top]


def test_a_wish_that_comes_while_another_is_fulfilled(kb):
    place = kb.place()
    ask(place)
    ask(place)
    done = []

    def warm(asked):
        done.append(asked.work_tree)
        if len(done) < 3:
            ask(place)

    assert warm_all(place.kb_dir, warm) == 3
    assert not os.listdir(os.path.join(place.kb_dir, NOTES))


@pytest.mark.parametrize(
    "note", [b"", b"\0", b"/nonexistent/.git\0/nonexistent", b"\xff\0\xff", b"relative\0relative", b"a" * 10_000]
)
def test_notes_that_lead_nowhere(kb, note):
    place = kb.place()
    ask(place)
    kb.write(f".git/kb/{NOTES}/worktree-gone", note)
    seen = []
    warm_all(place.kb_dir, lambda p: seen.append(p.work_tree))
    assert seen == [kb.top]


def test_nothing_is_started_where_nothing_is_to_be_done(hooked, program):
    """The index is current, or there is no knowledge base on this branch."""
    # Of a copied work tree the index is not current.
    hooked.ok("index", "-q")
    hooked.git("switch", "-q", "-c", "side")
    wait_for(lambda: len(program()) == 1)
    hooked.write("other.bin", b"\0")
    hooked.git("add", "-A")
    hooked.git("commit", "-q", "-m", "x")
    assert not os.path.exists(hooked.path(f".git/kb/{NOTES}"))
    hooked.write("other.bin", b"\0\0")
    hooked.git("commit", "-q", "-a", "-m", "x")
    hooked.git("rm", "-q", "other.bin")
    hooked.git("commit", "-q", "-m", "x")
    hooked.git("switch", "-q", "--orphan", "pages")
    hooked.git("commit", "-q", "--allow-empty", "-m", "x")
    time.sleep(0.3)
    # A new file could be a source.
    assert [line.split()[2] for line in program()] == ["post-checkout", "--stop-code"]


@pytest.mark.parametrize("name", UNDERWAY)
@pytest.mark.parametrize("hook", ["post-commit", "post-merge", "post-checkout", "post-rewrite"])
def test_nothing_while_something_goes_on(kb, name, hook):
    drop_index(kb)
    kb.write(f".git/{name}", "")
    assert kb.run("hooks", "run", hook, *(["amend"] if hook == "post-rewrite" else [])) == (0, "", "")
    time.sleep(0.05)
    assert not os.path.exists(kb.path(f".git/kb/{NOTES}"))


def test_a_rebase_starts_us_once(hooked, program):
    for n in range(3):
        hooked.write(f"n{n}.bin", b"%d" % n)
        hooked.commit()
    hooked.git("branch", "other", "HEAD~3")
    hooked.git("-c", "core.hooksPath=/dev/null", "switch", "-q", "other")
    hooked.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "o")
    hooked.git("-c", "core.hooksPath=/dev/null", "switch", "-q", "main")
    time.sleep(0.5)
    n_before = len(program())
    hooked.git("rebase", "-q", "other")
    wait_for(lambda: len(program()) > n_before)
    time.sleep(0.5)
    assert program()[n_before:] == ["hooks run post-rewrite rebase"]
    hooked.git("cherry-pick", "--allow-empty", "--keep-redundant-commits", "other", "HEAD~1")
    hooked.git("bisect", "start", "HEAD", "HEAD~4")
    hooked.git("bisect", "reset")
    time.sleep(0.5)
    # The checkout that ends the bisection is the last.
    assert {line.split()[2] for line in program()[n_before + 1 :]} <= {"post-checkout"}


def test_what_our_own_processes_do_starts_nothing(hooked, program):
    put_hook(hooked, "post-merge", "#!/bin/sh\n")
    hooked.git("commit", "-q", "--allow-empty", "-m", "x", GIT_KB_HOOK="post-commit")
    assert program() == []


# kb.autoIngest


@pytest.fixture
def automatic(hooked):
    hooked.git("config", "kb.autoIngest", "true")
    return hooked


def run_git(kb, *args):
    """Run git; return what it says on standard error that is ours."""
    done = subprocess.run(["git", *args], cwd=kb.top, capture_output=True, text=True)
    assert done.returncode == 0, done
    assert "Traceback" not in done.stderr
    return [line for line in done.stderr.splitlines() if line.startswith("git-kb: ")]


ONE = "git-kb: 1 changed source ingested again (kb.autoIngest); their manifests in kb/documents are not committed yet"
MANIFEST = "kb/documents/docs--guide.md.toml"


def test_a_committed_source_is_ingested_again(automatic):
    kb = automatic
    kb.write(GUIDE, "# Guide\n\nAnother text.\n")
    kb.write("notes.txt", "Not committed.\n")
    kb.write("docs/new.md", "# New, and no document yet\n")
    kb.git("add", GUIDE, "docs/new.md")
    head = kb.git("rev-parse", "HEAD")
    index = kb.git("ls-files", "-s")
    assert run_git(kb, "commit", "-q", "-m", "x") == [ONE]
    assert kb.git("rev-parse", "HEAD^") == head
    assert kb.git("ls-files", "-s", "kb") == "\n".join(line for line in index.splitlines() if "\tkb/" in line)
    assert kb.git("status", "--porcelain").splitlines() == [f" M {MANIFEST}", " M notes.txt"]
    assert kb.json("status")["stale"] == ["notes.txt"]
    wait_for(lambda: is_warm(kb))
    # The commit of the manifest has no end of its own.
    assert run_git(kb, "commit", "-q", "-m", "manifest", "--", "kb") == []
    assert kb.git("status", "--porcelain").splitlines() == [" M notes.txt"]
    kb.check()


def test_what_was_changed_after_staging_waits(automatic):
    automatic.write(GUIDE, "# Guide\n\nCommitted.\n")
    automatic.git("add", GUIDE)
    automatic.write(GUIDE, "# Guide\n\nNot yet.\n")
    before = automatic.manifests()
    assert run_git(automatic, "commit", "-q", "-m", "x") == []
    assert automatic.manifests() == before


@pytest.mark.parametrize("operation", ["merge", "fast-forward", "rebase", "root"])
def test_merges_and_rebases_too(automatic, operation):
    kb = automatic
    off = ["-c", "core.hooksPath=/dev/null"]
    if operation == "root":
        kb.git(*off, "checkout", "-q", "--orphan", "root")
        kb.write(GUIDE, "# Guide\n\nFrom the root.\n")
        assert run_git(kb, "commit", "-q", "-a", "-m", "x") == [ONE]
        return
    kb.git(*off, "switch", "-q", "-c", "other")
    kb.write(GUIDE, "# Guide\n\nOf the other branch.\n")
    kb.git(*off, "commit", "-q", "-a", "-m", "other")
    kb.git(*off, "switch", "-q", "main")
    if operation != "fast-forward":
        kb.git(*off, "commit", "-q", "--allow-empty", "-m", "main")
    args = ["rebase", "-q", "other"] if operation == "rebase" else ["merge", "-q", "--no-edit", "other"]
    assert run_git(kb, *args) == [ONE]
    assert kb.git("status", "--porcelain") == f" M {MANIFEST}"


def test_a_switch_leaves_the_work_tree_as_git_made_it(automatic):
    kb = automatic
    off = ["-c", "core.hooksPath=/dev/null"]
    kb.git(*off, "switch", "-q", "-c", "other")
    kb.write(GUIDE, "# Guide\n\nOf the other branch.\n")
    kb.git(*off, "commit", "-q", "-a", "-m", "other")
    kb.git(*off, "switch", "-q", "main")
    assert run_git(kb, "switch", "-q", "other") == []
    assert kb.git("status", "--porcelain") == ""


def test_while_somebody_writes_nothing_is_waited_for(automatic):
    automatic.write(GUIDE, "# Guide\n\nAnother text.\n")
    with WriterLock(automatic.path(".git/kb/lock").decode(), "test"):
        begin = time.monotonic()
        assert run_git(automatic, "commit", "-q", "-a", "-m", "x") == []
        assert time.monotonic() - begin < 8
    assert automatic.json("status")["stale"] == [GUIDE]


def test_a_clone_does_not_decide_that_we_write(hooked):
    """kb.config.json is tracked; only git's own configuration has the setting."""
    config = json.loads(hooked.read("kb.config.json"))
    hooked.write("kb.config.json", json.dumps({**config, "autoIngest": True, "kb": {"autoIngest": True}}))
    hooked.write(GUIDE, "# Guide\n\nAnother text.\n")
    assert run_git(hooked, "commit", "-q", "-a", "-m", "x") == []
    assert hooked.git("status", "--porcelain") == ""
