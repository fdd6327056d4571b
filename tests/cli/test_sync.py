"""`git kb sync`: clones and bare remotes, in any order, at once, refused, damaged, shallow, partial, or not there at all."""

import json
import os
import random
import stat
import subprocess
from datetime import datetime

import pytest
from hypothesis import settings
from kb import Kb, assert_message, command, git, in_process, needs_obedience, process, process_environ

from git_kb.model.section import encode_section, make_section, section_id
from git_kb.repo import remotes
from git_kb.store import sync as sync_module
from git_kb.store.history import pool_dates

REF = "refs/kb/sections"
TRACKING = "refs/kb/remotes/origin/sections"
NIGHT = settings.default.max_examples > 1000


class Clone(Kb):
    """A clone of a bare repository, in which sections are put without documents."""

    @classmethod
    def of(cls, remote, top, *options):
        git("clone", "-q", *options, str(remote), str(top), cwd="/")
        return cls(top)

    def add(self, *texts):
        """Put sections in the pool; return their kbids."""
        done = [self.run("hash-section", "-w", "-t", "text/plain", "--stdin", stdin=t.encode()) for t in texts]
        assert all(d.code == 0 for d in done), done
        return [d.out.strip() for d in done]

    def sync(self, *args, **environ):
        done = self.run("sync", *args, **environ)
        assert done.code == 0, done
        return done

    def sections(self, ref=REF):
        return sections(self.top, ref)

    def pool(self):
        return self.git("rev-parse", "-q", "--verify", REF, check=False)


def sections(top, ref=REF):
    return sorted(n.replace("/", "") for n in git("ls-tree", "-r", "--name-only", ref, cwd=top, check=False).split())


def kbid(text):
    return section_id(encode_section(make_section("text/plain", text)))


@pytest.fixture
def remote(tmp_path):
    """A bare repository with one commit."""
    seed = Kb.create(tmp_path / "seed", {"a.md": "# A\n\nText.\n"})
    git("clone", "-q", "--bare", seed.top, str(tmp_path / "remote.git"), cwd="/")
    return str(tmp_path / "remote.git")


@pytest.fixture
def a(remote, tmp_path):
    return Clone.of(remote, tmp_path / "a")


@pytest.fixture
def b(remote, tmp_path):
    return Clone.of(remote, tmp_path / "b")


def hook(top, name, script):
    path = os.path.join(top, "hooks", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(f"#!/bin/sh\n{script}\n")
    os.chmod(path, 0o755)
    return path


def test_two_clones_get_what_either_has(a, b, remote):
    mine, yours = a.add("Mine.", "Both."), b.add("Yours.", "Both.")
    assert a.sync().err == "'origin': 0 sections came in, 2 sections sent\n"
    assert b.sync().err == "'origin': 1 section came in, 1 section sent\n"
    assert a.sync().err == "'origin': 1 section came in, 0 sections sent\n"
    assert a.pool() == b.pool() == git("rev-parse", REF, cwd=remote) == a.git("rev-parse", TRACKING)
    assert a.sections() == sorted({*mine, *yours})
    for clone in (a, b):
        done = clone.sync()
        assert done == (0, "", "'origin' and this pool have the same sections\n")
    # What is united is told once, and the commit that unites is not told at all.
    assert [o["subject"] for o in map(json.loads, a.ok("log", "--json").splitlines()) if o["where"] == "pool"] == [
        "add 1 section"
    ] * 4
    a.git("fsck", "--strict", "--no-dangling")
    git("fsck", "--strict", "--no-dangling", cwd=remote)


def test_a_real_knowledge_base(tmp_path, remote, a, b):
    for clone, name in ((a, "one"), (b, "two")):
        clone.run("init", "-q")
        clone.write(f"{name}.md", f"# {name}\n\nThe {name}.\n\n## More\n\nAbout {name}.\n")
        clone.ok("ingest", "-q")
        assert "not synced with 'origin' yet" in clone.ok("status")
        clone.sync()
    a.commit("one")
    a.git("push", "-q", "origin", "main")
    a.sync()
    # A third clone takes sections that no source of its own gives, and finds them.
    c = Clone.of(remote, tmp_path / "c")
    c.sync()
    assert c.pool_tree() == a.pool_tree() != ""
    os.unlink(c.path("one.md"))
    assert c.hits("one")
    assert c.json("fsck")["errors"] == []
    c.ok("show", f"{kbid_of(c, 'one')}")


def kbid_of(kb, docid):
    return kb.ok("ls-sections", "--format", "{kbid} {docid}").splitlines()[-1].split()[0]


def test_dates_of_what_both_brought(a, b, monkeypatch):
    """A section that two clones stored came in when the first did, whichever parent of the union that is."""
    for n in range(4):
        text = f"Both {n}."
        for clone, when in ((a, 1_700_001_000 + n), (b, 1_700_002_000 - 2000 * (n % 2))):
            monkeypatch.setenv("GIT_COMMITTER_DATE", f"{when} +0000")
            clone.add(text, f"Only {clone.top} {n}.")
        for clone in (a, b, a):
            clone.sync()
        first = min(1_700_001_000 + n, 1_700_002_000 - 2000 * (n % 2))
        for clone in (a, b):
            dates = pool_dates(clone.place(), [kbid(text)])
            assert {k: datetime.fromisoformat(d).timestamp() for k, d in dates.items()} == {kbid(text): first}


def test_only_one_way(a, b, remote):
    (mine,), (yours,) = a.add("Mine."), b.add("Yours.")
    b.sync()
    before = a.pool()
    assert a.sync("--fetch").err == "'origin': 1 section not here, 1 section not there\n"
    assert a.sync("-n").err == "'origin': 1 section would come in, 1 section would be sent\n"
    assert a.sync("-n", "--no-push").err == "'origin': 1 section would come in, 1 section not there\n"
    assert a.sync("-n", "--push-only").err == "'origin': 1 section not here, 1 section would be sent\n"
    assert (a.pool(), sections(remote)) == (before, [yours])
    assert a.sync("--push-only").err == "'origin': 1 section left there, 1 section sent\n"
    assert (a.pool(), sections(remote)) == (before, sorted([mine, yours]))
    a.add("More.")
    assert a.sync("--no-push").err == "'origin': 1 section came in, 1 section kept back\n"
    assert (len(a.sections()), len(sections(remote))) == (3, 2)
    assert_message(a.run("sync", "--fetch", "--no-push"), 129, "not allowed with")


def test_json(a, b, remote):
    a.add("Mine.")
    b.add("Yours.")
    a.sync()
    done = b.sync("--json")
    assert done.err == ""
    answer = json.loads(done.out)
    assert answer == {
        "remote": "origin",
        "dry_run": False,
        "received": 1,
        "sent": 1,
        "pushed": True,
        "refused": None,
        "commit": b.pool(),
        "remote_commit": git("rev-parse", REF, cwd=remote),
        "tries": 1,
        "left_out": [],
    }
    answer = json.loads(a.sync("--json", "-n").out)
    assert (answer["dry_run"], answer["received"], answer["sent"], answer["pushed"]) == (True, 1, 0, False)
    assert b.sync("-q") == (0, "", "")


def test_status_tells_what_is_not_there(a, b):
    for clone in (a, b):
        clone.run("init", "-q")
    assert a.json("status")["pool"]["remote"] == {"name": "origin", "ahead": None, "behind": None}
    a.add("One.")
    a.sync()
    assert "    the same as that of 'origin' when last synced\n" in a.ok("status")
    a.add("Two.", "Three.")
    assert "    2 not on 'origin', when last synced (use 'git kb sync')\n" in a.ok("status")
    b.add("Four.")
    b.sync()
    a.sync("--fetch")
    assert "    2 not on 'origin', 1 only on 'origin', when last synced" in a.ok("status")
    assert a.json("status")["pool"]["remote"] == {"name": "origin", "ahead": 2, "behind": 1}
    a.sync()
    assert a.json("status")["pool"]["remote"] == {"name": "origin", "ahead": 0, "behind": 0}
    a.git("remote", "remove", "origin")
    assert a.json("status")["pool"]["remote"] is None
    assert "synced" not in a.ok("status")


@pytest.mark.parametrize("seed", range(40 if NIGHT else 6))
def test_any_order_gives_one_pool(tmp_path, remote, seed):
    """Clones ingest and sync in any order, over one remote or two; at the end all have one commit, and nobody is lacking anything."""
    choose = random.Random(seed)
    second = str(tmp_path / "second.git")
    git("clone", "-q", "--bare", remote, second, cwd="/")
    clones = [Clone.of(remote, tmp_path / f"c{n}") for n in range(3)]
    for clone in clones:
        clone.git("remote", "add", "second", second)
    everything = set()
    for _ in range(12):
        clone = choose.choice(clones)
        what = choose.choice(("add", "add", "origin", "origin", "second", "take", "give"))
        if what == "add":
            everything.update(clone.add(*(f"Section {choose.randrange(20)}." for _ in range(choose.randrange(1, 4)))))
        elif what in ("take", "give"):
            clone.sync("--no-push" if what == "take" else "--push-only", choose.choice(("origin", "second")))
        else:
            clone.sync(what)
    for n in (0, 1, 2, 1, 0, 2):
        for name in ("origin", "second"):
            clones[n].sync(name)
    tips = {clone.pool() for clone in clones} | {
        git("rev-parse", "-q", "--verify", REF, cwd=r, check=False) for r in (remote, second)
    }
    assert len(tips) == 1
    assert clones[0].sections() == sorted(everything)
    for clone in clones:
        assert json.loads(clone.sync("--json").out)["pushed"] is False


def test_many_processes_at_once(tmp_path, remote):
    """Four clones, each with two processes of its own, push at the same moment; each gets there."""
    clones = [Clone.of(remote, tmp_path / f"c{n}") for n in range(4)]
    everything = sorted(clone.add(f"Of clone {n}.")[0] for n, clone in enumerate(clones))
    running = [
        subprocess.Popen(
            command("sync", "--json"), cwd=clone.top, env=process_environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for clone in clones * 2
    ]
    done = [(p.communicate(timeout=120), p.returncode) for p in running]
    assert [code for _, code in done] == [0] * 8, done
    assert sections(remote) == everything
    for clone in clones:
        clone.sync()
    assert {clone.pool() for clone in clones} == {git("rev-parse", REF, cwd=remote)}


def test_a_sync_and_ingests_in_one_clone(a, b, monkeypatch):
    """An ingest moves the pool between the look at it and the move: what it brought goes along."""
    b.add("Yours.")
    b.sync()
    a.add("Mine.")
    real = sync_module.unite_trees
    left = [3]

    def slow(*args):
        union = real(*args)
        if left[0]:
            left[0] -= 1
            a.add(f"In between {left[0]}.")
        return union

    monkeypatch.setattr(sync_module, "unite_trees", slow)
    a.sync()
    assert len(a.sections()) == 5 == len(a.sections(TRACKING))


def test_a_push_that_always_loses_gives_up(a, b, monkeypatch):
    """Not before it has tried some times, each after a longer pause."""
    a.add("Mine.")
    n = [0]

    def busy(place, remote, oid, ref, verify):
        n[0] += 1
        raise remotes.PushLost(remote, "fetch first")

    pauses = []
    monkeypatch.setattr(sync_module, "push_ref", busy)
    monkeypatch.setattr("time.sleep", pauses.append)
    with a.repo() as repo, pytest.raises(remotes.PushLost):
        sync_module.sync(repo, "origin", sleep=pauses.append)
    assert n[0] == sync_module.MAX_TRIES == len(pauses) + 1
    assert sum(pauses) < 30
    assert pauses[-1] > pauses[0]


@pytest.mark.parametrize("push", ["", "+refs/kb/*:refs/kb/*"])
def test_no_push_is_forced(a, b, remote, monkeypatch, push):
    """The remote's ref moves between the fetch and the push, and the server would take anything."""
    b.add("Yours.")
    b.sync()
    a.add("Mine.")
    real = sync_module.push_ref
    seen = []

    def late(place, name, oid, ref, verify):
        if not seen:
            b.add("Quicker.")
            b.sync()
        seen.append(oid)
        return real(place, name, oid, ref, verify)

    git("config", "receive.denyNonFastForwards", "false", cwd=remote)
    if push:
        a.git("config", "remote.origin.push", push)
    monkeypatch.setattr(sync_module, "push_ref", late)
    monkeypatch.setattr(b, "run", lambda *args, **more: process(b.top, *args, **more))
    assert a.sync().code == 0
    assert len(seen) == 2
    assert sections(remote) == a.sections() == sorted(kbid(t) for t in ("Mine.", "Yours.", "Quicker."))


def test_a_hook_of_the_remote_refuses(a, b, remote):
    b.add("Yours.")
    b.sync()
    hook(remote, "pre-receive", "echo pools are frozen >&2; exit 1")
    a.add("Mine.")
    done = a.run("sync")
    assert done.code == 1
    assert done.err == (
        "'origin': 1 section came in, 1 section kept back\n"
        "error: the push to 'origin' was refused: pre-receive hook declined\nremote: pools are frozen\n"
    )
    assert len(a.sections()) == 2
    assert a.git("rev-parse", TRACKING) == b.pool()
    done = a.run("sync", "--json")
    assert (done.code, json.loads(done.out)["refused"]) == (1, "pre-receive hook declined")
    # Who only reads is not bothered.
    b.sync()
    a.sync("--no-push")


def test_a_hook_of_ours_refuses(a, remote):
    a.add("Mine.")
    hook(a.path(".git").decode(), "pre-push", 'cat >"$GIT_DIR/asked"; echo not today >&2; exit 1')
    done = a.run("sync")
    assert_message_after_note(done, 1, "the push to 'origin' was refused: it was stopped here, by a pre-push hook", "not today")
    assert a.read(".git/asked").split()[2] == REF.encode()
    assert sections(remote) == []
    a.sync("--no-verify")
    assert len(sections(remote)) == 1


def assert_message_after_note(done, code, *parts):
    assert done.code == code
    assert "\nerror: " in done.err
    assert "Traceback" not in done.err
    for part in parts:
        assert part in done.err


@needs_obedience
def test_a_remote_that_may_only_be_read(a, b, remote):
    b.add("Yours.")
    b.sync()
    a.add("Mine.")
    for top, names, _ in os.walk(remote):
        for name in names:
            path = os.path.join(top, name)
            os.chmod(path, os.stat(path).st_mode & ~0o222)
        os.chmod(top, os.stat(top).st_mode & ~stat.S_IWUSR & ~0o22)
    try:
        done = process(a.top, "sync", obey=True)
        assert done.code == 1, done
        assert "1 section came in, 1 section kept back" in done.err
        assert "the push to 'origin' was refused" in done.err
    finally:
        for top, _, _ in os.walk(remote):
            os.chmod(top, 0o755)
    assert len(a.sections()) == 2


@pytest.mark.parametrize(
    "url",
    ["{}/nosuch.git", "ssh://git@localhost:1/x", "http://localhost:1/x.git", "https://nosuch.invalid/x.git", "ext::sh -c false"],
)
def test_no_network(a, url, tmp_path):
    a.add("Mine.")
    before = a.pool()
    a.git("remote", "add", "gone", url.format(tmp_path))
    done = a.run("sync", "gone", GIT_SSH_COMMAND="false", http_proxy="", https_proxy="")
    assert_message(done, 128, "cannot reach 'gone': ")
    assert a.pool() == before
    assert_message(a.run("sync", url.format(tmp_path), GIT_SSH_COMMAND="false"), 128, "cannot reach '")


def test_unborn_here_or_there(a, b, remote, tmp_path):
    assert a.sync().err == "there is no pool yet\n"
    assert a.git("for-each-ref", "refs/kb") == ""
    b.add("Yours.")
    b.sync()
    a.sync()
    assert a.pool() == b.pool()
    # A repository without a commit, and one that is bare.
    git("init", "-q", str(tmp_path / "empty"), cwd="/")
    empty = Clone(tmp_path / "empty")
    empty.sync(remote)
    assert empty.pool() == b.pool()
    git("clone", "-q", "--bare", remote, str(tmp_path / "bare.git"), cwd="/")
    done = in_process(tmp_path / "bare.git", "sync", remote)
    assert done.code == 0
    assert git("rev-parse", REF, cwd=tmp_path / "bare.git") == b.pool()
    # The remote's ref goes away: what follows it goes too, and the next sync sends all.
    git("update-ref", "-d", REF, cwd=remote)
    a.sync("--fetch")
    assert a.git("for-each-ref", "refs/kb/remotes") == ""
    a.sync()
    assert git("rev-parse", REF, cwd=remote) == b.pool()


def test_which_remote(a, b, remote, tmp_path):
    """As git fetch: that of the branch, else origin, else the only one."""
    others = {}
    for name in ("upstream", "fork"):
        others[name] = str(tmp_path / f"{name}.git")
        git("init", "-q", "--bare", others[name], cwd="/")
        a.git("remote", "add", name, others[name])
    a.add("Mine.")
    assert json.loads(a.sync("--json", "-n").out)["remote"] == "origin"
    a.git("config", "branch.main.remote", "fork")
    assert json.loads(a.sync("--json", "-n").out)["remote"] == "fork"
    a.git("config", "branch.main.remote", ".")
    assert json.loads(a.sync("--json", "-n").out)["remote"] == "origin"
    a.git("config", "--unset-all", "branch.main.remote")
    a.git("switch", "-q", "--detach")
    assert json.loads(a.sync("--json", "-n").out)["remote"] == "origin"
    a.git("remote", "remove", "origin")
    assert_message(a.run("sync"), 128, "no remote is the default one of fork, upstream", "hint: name one: 'git kb sync <remote>'")
    a.git("remote", "remove", "fork")
    assert json.loads(a.sync("--json", "-n").out)["remote"] == "upstream"
    a.git("remote", "remove", "upstream")
    assert_message(a.run("sync"), 128, "this repository has no remote")
    # A path or URL will do, and leaves no trace but the sections.
    assert a.sync(others["fork"]).err.endswith("1 section sent\n")
    assert a.git("for-each-ref", "--format=%(refname)", "refs/kb") == REF
    assert sections(others["fork"]) == a.sections()
    assert not os.path.exists(a.path(".git/FETCH_HEAD"))


@pytest.mark.parametrize("name", ["team/docs", "sections", "a.b-c", "kb"])
def test_names_of_remotes(a, remote, name):
    a.git("remote", "rename", "origin", name)
    a.add("Mine.")
    a.sync()
    assert a.git("rev-parse", f"refs/kb/remotes/{name}/sections") == a.pool()
    a.run("init", "-q")
    assert a.json("status")["pool"]["remote"] == {"name": name, "ahead": 0, "behind": 0}


def test_a_name_like_an_option(a):
    assert_message(a.run("sync", "--", "--upload-pack=touch pwned"), 128, "cannot reach")
    assert not os.path.exists(a.path("pwned"))


@pytest.mark.parametrize("how", ["blob", "tree", "tag", "symbolic", "broken tree"])
def test_a_remote_pool_that_is_none(a, remote, how):
    a.add("Mine.")
    before = a.pool()
    if how == "symbolic":
        git("symbolic-ref", REF, "refs/heads/main", cwd=remote)
    elif how == "broken tree":
        tree = git("hash-object", "-w", "-t", "tree", "--literally", "--stdin", input=b"junk", cwd=remote)
        commit = f"tree {tree}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n".encode()
        oid = git("hash-object", "-w", "-t", "commit", "--literally", "--stdin", input=commit, cwd=remote)
        git("update-ref", REF, oid, cwd=remote)
    else:
        if how == "tag":
            git("tag", "-a", "-m", "x", "x", "main", cwd=remote)
        name = {"blob": "main:a.md", "tree": "main^{tree}", "tag": "refs/tags/x"}[how]
        git("update-ref", REF, git("rev-parse", name, cwd=remote), cwd=remote)
    done = a.run("sync")
    if how == "symbolic":
        # Git gives what it stands for, a commit whose tree is no pool: all of it is left out, and the remote refuses nothing.
        assert "'a.md' of 'origin' is left out: the pool's tree has no place for it" in done.err
        assert a.sections() == [kbid("Mine.")]
        return
    assert done.code == 128
    assert "Traceback" not in done.err
    assert f"'{REF}' of 'origin' is no section pool" in done.err or "cannot reach 'origin'" in done.err
    assert a.pool() == before


def test_what_a_remote_forges_is_left_out_and_named(a, b, remote):
    """And the pool is cleaned there too, so that all converge to what is sound."""
    b.add("Yours.")
    b.sync()
    forged = kbid("A promise.")
    blob = git("hash-object", "-w", "--stdin", input=b"section text/plain 6\0A lie.", cwd=remote)
    listing = git("ls-tree", REF, cwd=remote)
    below = git("mktree", input=f"100644 blob {blob}\t{forged[2:]}\n".encode(), cwd=remote)
    tree = git("mktree", input=f"{listing}\n040000 tree {below}\t{forged[:2]}\n".encode(), cwd=remote)
    commit = git("commit-tree", "-p", REF, "-m", "forged", tree, cwd=remote)
    git("update-ref", REF, commit, cwd=remote)
    done = a.sync()
    assert f"warning: '{forged[:2]}/{forged[2:]}' of 'origin' is left out: its hash is not its name\n" in done.err
    assert a.sections() == sections(remote) == [kbid("Yours.")]
    assert json.loads(b.sync("--json").out)["left_out"] == []
    assert a.pool() == b.pool()
    assert git("merge-base", "--is-ancestor", commit, REF, cwd=remote) == ""
    # What is ours is as little believed.
    a.git("update-ref", REF, commit)
    done = a.sync()
    assert "of this pool is left out" in done.err
    assert "hint: 'git kb ingest -f' makes sections again" in done.err
    assert a.sections() == sections(remote) == [kbid("Yours.")]


def test_a_cleaning_that_is_refused_is_no_failure(a, b, remote):
    b.add("Yours.")
    b.sync()
    tree = git(
        "mktree",
        input=git("ls-tree", REF, cwd=remote).encode()
        + b"\n100644 blob "
        + git("rev-parse", "main:a.md", cwd=remote).encode()
        + b"\tREADME\n",
        cwd=remote,
    )
    git("update-ref", REF, git("commit-tree", "-p", REF, "-m", "odd", tree, cwd=remote), cwd=remote)
    hook(remote, "pre-receive", "exit 1")
    done = a.sync()
    assert "'README' of 'origin' is left out" in done.err
    assert "warning: 'origin' keeps what is left out here: pre-receive hook declined" in done.err
    assert a.sections() == [kbid("Yours.")]


def test_shallow_clones(tmp_path, remote):
    url = f"file://{remote}"
    deep, flat = Clone.of(url, tmp_path / "deep"), Clone.of(url, tmp_path / "flat", "--depth=1")
    for n in range(3):
        deep.add(f"Deep {n}.")
        deep.sync()
    (own,) = flat.add("Flat.")
    assert flat.sync().err == "'origin': 3 sections came in, 1 section sent\n"
    deep.sync()
    assert flat.pool() == deep.pool()
    # The pool itself shallow, as a remote and as a clone.
    third = Clone.of(url, tmp_path / "third")
    third.git("fetch", "-q", "--depth=1", "origin", f"{REF}:{REF}")
    third.add("Third.")
    third.sync()
    deep.sync()
    assert third.pool() == deep.pool()
    assert own in third.sections()
    assert len(third.sections()) == 5


def test_partial_clones(tmp_path, remote, b):
    git("config", "uploadpack.allowFilter", "true", cwd=remote)
    git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=remote)
    b.add(*(f"Yours {n}." for n in range(5)))
    b.sync()
    url = f"file://{remote}"
    for kind in ("blob:none", "tree:0"):
        partial = Clone.of(url, tmp_path / kind.replace(":", "-"), f"--filter={kind}")
        partial.add(f"Mine, {kind}.")
        partial.sync()
        assert partial.sections() == sections(remote)
        # The content came along, so what follows needs no network.
        partial.git("remote", "set-url", "origin", "/nonexistent")
        partial.git("config", "remote.origin.url", "/nonexistent")
        assert partial.ok("cat-section", "-p", kbid("Yours 3.")) == "Yours 3."
    # A pool that was fetched without its blobs.
    partial = Clone.of(url, tmp_path / "names", "--filter=blob:none")
    partial.git("fetch", "-q", "origin", f"{REF}:{REF}")
    partial.add("Mine, names.")
    partial.sync()
    assert partial.sections() == sections(remote)


@pytest.mark.parametrize("backend", ["libgit2", "dulwich"])
@pytest.mark.parametrize("format_", ["sha1", "sha256"])
def test_bodies_and_object_formats(tmp_path, backend, format_):
    if (backend, format_) == ("libgit2", "sha256"):
        pytest.skip("libgit2 knows no SHA-256")
    git("init", "-q", "--bare", f"--object-format={format_}", str(tmp_path / "r.git"), cwd="/")
    clones = [Clone(Kb.create(tmp_path / name, {}, format_).top) for name in "ab"]
    for n, clone in enumerate(clones):
        clone.git("remote", "add", "origin", str(tmp_path / "r.git"))
        clone.add(*(f"Section {n} {i}." for i in range(3)))
        clone.sync(GIT_KB_BACKEND=backend)
    clones[0].sync(GIT_KB_BACKEND=backend)
    assert len(clones[0].sections()) == 6
    assert clones[0].pool() == clones[1].pool()


def test_whose_the_commits_are(a, b, remote, monkeypatch):
    """The commit that unites is nobody's: no identity is needed, nothing is signed, and its date is that of the younger pool."""
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.delenv(name)
    for clone in (a, b):
        clone.git("config", "user.useConfigOnly", "true")
        clone.git("config", "commit.gpgsign", "true")
        clone.git("config", "gpg.program", "false")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1700000500 +0100")
    a.add("Mine.")
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    b.run("hash-section", "-w", "--stdin", stdin=b"Yours.", SOURCE_DATE_EPOCH="1600000000")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    a.sync()
    b.sync()
    made = b.git("cat-file", "commit", REF)
    assert "author git-kb <git-kb@localhost> 1700000500 +0000\ncommitter git-kb <git-kb@localhost> 1700000500 +0000\n" in made
    assert "gpgsig" not in made


def test_what_is_configured_for_pushes_does_not_matter(a, remote):
    """No tags go along, no other refs, nothing is recursed into."""
    for key, value in {
        "push.followTags": "true",
        "push.default": "matching",
        "push.recurseSubmodules": "check",
        "remote.origin.tagOpt": "--tags",
        "remote.origin.prune": "true",
        "fetch.prune": "true",
        "fetch.recurseSubmodules": "true",
        "fetch.writeCommitGraph": "true",
        "remote.origin.push": "+refs/heads/*:refs/heads/*",
    }.items():
        a.git("config", key, value)
    a.git("tag", "-a", "-m", "a tag", "mine")
    a.commit("not to be pushed")
    a.add("Mine.")
    before = a.git("for-each-ref", "refs/heads", "refs/tags", "refs/remotes")
    theirs = git("for-each-ref", "refs/heads", "refs/tags", cwd=remote)
    a.sync()
    assert git("for-each-ref", "refs/heads", "refs/tags", cwd=remote) == theirs
    assert a.git("for-each-ref", "refs/heads", "refs/tags", "refs/remotes") == before
    assert a.git("status", "--porcelain") == ""
