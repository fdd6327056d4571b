"""Operations on sections that are killed at every step: what is there is whole, and the same again ends as if nothing had happened."""

import os
import shutil

import pytest
from kb import GUIDE, Kb, in_process
from test_kill import arm, assert_whole, copy

SMOKE, FOG = b"## Smoke\n\nSmoke calms bees.\n", b"## Smoke\n\nFog calms them more.\n"


def prepared(top):
    """Return a knowledge base in which one section stands in a section file twice, and in an ordinary source."""
    kb = Kb.ready(top, {"docs/guide.md": GUIDE})
    for name in ("one", "two", "docs/guide.md"):
        kb.ok("add-section", "-q", "-d", name, stdin=SMOKE)
    kb.ok("add-section", "-q", "-d", "one", stdin=b"## Wax\n\nWax.\n")
    return kb


def smoke(kb):
    return next(line.split()[0] for line in kb.ok("ls-sections").splitlines() if line.endswith("Smoke"))


OPERATIONS = {
    "add-new": (lambda kb: ["add-section", "--no-index", "--title", "New"], b"Queens are marked.", []),
    "add-to": (
        lambda kb: ["add-section", "--no-index", "-d", "docs/guide.md"],
        b"## Queen\n\nQueens are marked.\n",
        ["docs/guide.md"],
    ),
    "replace": (lambda kb: ["add-section", "--no-index", "-d", "one", "--replace"], FOG, ["docs/guide.md"]),
    "update": (lambda kb: ["update-section", "--no-index", smoke(kb)], FOG, ["docs/guide.md"]),
    "remove": (lambda kb: ["rm-section", smoke(kb)], b"", ["docs/guide.md"]),
    "make": (lambda kb: ["mk-document", "all", smoke(kb), "--title", "All", "--tag", "t"], b"", []),
    "remove-document": (lambda kb: ["rm-document", "-f", "one"], b"", []),
    "ingest": (lambda kb: ["ingest", "-", "--no-index"], b"# Queens\n\nThey are marked.\n", []),
}


def state(kb):
    """Return what an operation is for: manifests and sources."""
    return kb.manifests(), {
        path: kb.read(path) for path in kb.git("ls-files", "-co", "kb/raw", "docs").split() if os.path.exists(kb.path(path))
    }


def killed(kb, n, args, data):
    pid = os.fork()
    if pid == 0:
        try:
            arm(n, after=False)
            in_process(kb.top, *args, stdin=data)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("name", OPERATIONS)
def test_killed_at_every_step(tmp_path, name):
    arguments, data, ordinary = OPERATIONS[name]
    model = prepared(tmp_path / "model")
    args = arguments(model)
    wanted = copy(model, tmp_path / "wanted")
    wanted.ok(*args, stdin=data)
    n_killed = 0
    # The operations share their steps, so each looks at others of them; all of them at night.
    stride = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "night" else 5
    for n in range(list(OPERATIONS).index(name) % stride, 1000, stride):
        kb = copy(model, tmp_path / f"at-{n}")
        if not killed(kb, n, args, data):
            break
        n_killed += 1
        assert_whole(kb)
        done = kb.run(*args, stdin=data)
        # 1: it is done already. An ordinary source that was written before its manifest is stale, as after any edit.
        assert done.code in ((0, 1) if name.startswith("remove") or name == "update" else (0,)) or (
            done.code == 128 and ordinary and "git kb ingest" in done.err
        ), done
        kb.ok("ingest", "-q", "--no-index")
        again = kb.run(*args, stdin=data)
        assert again.code in (0, 1), again
        assert state(kb) == state(wanted)
        assert kb.json("fsck")["errors"] == []
        shutil.rmtree(kb.top)
    assert n_killed >= 1
