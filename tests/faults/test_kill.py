"""An ingest that is killed, at every step: nothing is half-written, and the next one ends as if nothing had happened."""

import os
import shutil
import signal
import subprocess
import time

import pytest
from kb import GUIDE, Kb, command, in_process, process_environ

from git_kb.ingest import ingest as ingest_module
from git_kb.store import pool as pool_module

N_SHARDS = 4
QUERY = "syrup fondant swarm hornet hive wasp number"
# What changes the disk, or has git change it. To be killed after one of them is to be killed before the next; a git that was started
# goes on alone.
STARTS = ((os, "posix_spawnp"), (subprocess.Popen, "__init__"))
STEPS = (*((os, name) for name in ("replace", "rename", "link", "unlink", "mkdir", "fsync")), *STARTS)


def changed(kb):
    """Bring about one of each: a changed, a new, a moved and a vanished source."""
    kb.write("docs/guide.md", GUIDE.replace("syrup", "fondant"))
    kb.write("docs/new.md", "# New\n\nThe hornet.\n\n## More\n\nThe wasp.\n")
    os.rename(kb.path("src/weigh.py"), kb.path("src/scale.py"))
    os.unlink(kb.path("notes.txt"))


def fresh(kb):
    """A first ingest: nothing to change, all is new."""
    kb.git("rm", "-q", "-r", "kb/documents")
    kb.git("commit", "-q", "-m", "no documents")
    kb.git("update-ref", "-d", "refs/kb/sections")
    shutil.rmtree(kb.path(".git/kb"))


def state(kb):
    """Return all that an ingest is for, but not how it came about."""
    names = sorted(n for n in os.listdir(kb.path("kb").decode()))
    return kb.manifests(), kb.pool_tree(), kb.hits(QUERY, "--limit", "1000"), names


def ingest(kb):
    done = kb.run("ingest", "--prune", "-j1")
    assert done.code == 0, done
    return done


def killed(kb, n, after=False):
    """Ingest in a child that kills itself before the n-th step, or after git was started the n-th time.

    Return whether it came that far.
    """
    pid = os.fork()
    if pid == 0:
        try:
            arm(n, after)
            in_process(kb.top, "ingest", "--prune", "-j1")
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def arm(n, after):
    left = [n]

    def armed(step):
        def run(*args, **named):
            due = left[0] == 0
            left[0] -= 1
            if due and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return step(*args, **named)
            finally:
                if due:
                    os.kill(os.getpid(), signal.SIGKILL)

        return run

    for owner, name in STARTS if after else STEPS:
        setattr(owner, name, armed(getattr(owner, name)))


def assert_whole(kb):
    """Whatever was done so far is complete: for git, and for us."""
    kb.git("fsck", "--strict", "--no-dangling")
    done = kb.run("fsck", "--json")
    assert done.code == 0, done.out


@pytest.mark.parametrize("start", [changed, fresh], ids=["again", "first"])
@pytest.mark.parametrize("shard", range(N_SHARDS))
def test_killed_at_every_step(tmp_path, monkeypatch, start, shard):
    assert kill_at_each(tmp_path, monkeypatch, start, shard, after=False) >= 5


@pytest.mark.parametrize("start", [changed, fresh], ids=["again", "first"])
@pytest.mark.parametrize("shard", range(2))
def test_killed_while_git_runs(tmp_path, monkeypatch, start, shard):
    assert kill_at_each(tmp_path, monkeypatch, start, shard, after=True) >= 2


def kill_at_each(tmp_path, monkeypatch, start, shard, after):
    """Kill an ingest at each step of a shard, check, and ingest again. Return how many steps there were."""
    # Half of the shards write a pack where the others write loose objects; one manifest a batch gives the most steps.
    monkeypatch.setattr(pool_module, "LOOSE_LIMIT", 0 if shard % 2 else 100)
    monkeypatch.setattr(ingest_module, "BATCH_BYTES", 100)
    model = Kb.ready(tmp_path / "model")
    start(model)
    wanted = copy(model, tmp_path / "wanted")
    ingest(wanted)
    wanted_state = state(wanted)
    n_killed = 0
    for n in range(shard, 1000, 2 if after else N_SHARDS):
        kb = copy(model, tmp_path / f"at-{n}")
        if not killed(kb, n, after):
            break
        n_killed += 1
        assert_whole(kb)
        ingest(kb)
        assert state(kb) == wanted_state
        shutil.rmtree(kb.top, ignore_errors=True)
    return n_killed


def copy(kb, top):
    shutil.copytree(kb.top, top, symlinks=True)
    return Kb(top)


def test_the_next_search_alone_completes_a_killed_index(tmp_path):
    """When the manifests are there and the index is not, a search makes it."""
    model = Kb.ready(tmp_path / "model")
    changed(model)
    wanted = copy(model, tmp_path / "wanted")
    ingest(wanted)
    answers = wanted.hits(QUERY)
    n_checked = 0
    for n in range(0, 1000, 3):
        kb = copy(model, tmp_path / f"at-{n}")
        if not killed(kb, n):
            break
        if kb.manifests() == wanted.manifests():
            assert kb.hits(QUERY) == answers
            n_checked += 1
        shutil.rmtree(kb.top)
    assert n_checked >= 2


def test_killed_at_any_time(tmp_path):
    """The same with a whole process, at moments nobody chose."""
    files = {f"d{i % 3}/f{i:02}.md": f"# File {i}\n\nThe swarm and the hive number {i}.\n" for i in range(60)}
    model = Kb.create(tmp_path / "model", files)
    model.ok("init", "-q")
    wanted = copy(model, tmp_path / "wanted")
    begin = time.monotonic()
    subprocess.run(command("ingest"), cwd=wanted.top, env=process_environ(), check=True, capture_output=True)
    whole_s = time.monotonic() - begin
    wanted_state = state(wanted)
    n_killed = 0
    for n in range(4):
        kb = copy(model, tmp_path / f"at-{n}")
        started = subprocess.Popen(
            command("ingest"), cwd=kb.top, env=process_environ(), stderr=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(whole_s * (0.3 + 0.15 * n))
        os.killpg(started.pid, signal.SIGKILL)
        n_killed += started.wait() == -signal.SIGKILL
        assert_whole(kb)
        subprocess.run(command("ingest", "-q"), cwd=kb.top, env=process_environ(), check=True, capture_output=True)
        assert state(kb) == wanted_state
        shutil.rmtree(kb.top)
    assert n_killed
