"""An import that is killed, at every step: the knowledge base is whole, and the same import again does the rest."""

import os
import shutil
import signal

import pytest
from kb import ROOT, Kb, in_process
from test_kill import arm, assert_whole, copy

from git_kb.ingest import ingest as ingest_module
from git_kb.store import pool as pool_module

# How far apart the steps are at which it is killed: small batches have many.
FORMS = {"directory": 7, "bundle": 7, "kb-tree": 25, "kbdb": 25, "rows": 25}


def path_of(form, tmp_path):
    """Return what to import."""
    if form not in ("directory", "bundle"):
        return os.path.join(ROOT, "fixtures", "import", form)
    path = str(tmp_path / ("out.bundle" if form == "bundle" else "out"))
    Kb.ready(tmp_path / "exported").ok("export", "-q", path)
    return path


def killed(kb, path, n):
    """Import in a child that kills itself before the n-th step. Return whether it came that far."""
    pid = os.fork()
    if pid == 0:
        try:
            arm(n, False)
            in_process(kb.top, "import", path)
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1] == signal.SIGKILL


def state(kb):
    return kb.manifests(), kb.pool_tree(), kb.hits("swarm hive syrup mites drones"), kb.git("status", "--porcelain", "-uall")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shard", range(2))
def test_killed_at_every_step(tmp_path, monkeypatch, form, shard):
    # Half of the shards write a pack where the others write loose objects; one manifest a batch gives the most steps.
    monkeypatch.setattr(pool_module, "LOOSE_LIMIT", 0 if shard % 2 else 100)
    monkeypatch.setattr(ingest_module, "BATCH_BYTES", 100)
    model = Kb.create(tmp_path / "model", {"mine.md": "# Mine\n\nThe hive of mine.\n"})
    model.ok("init", "-q")
    model.ok("ingest", "-q")
    model.commit("mine")
    path = path_of(form, tmp_path)
    wanted = copy(model, tmp_path / "wanted")
    wanted.ok("import", "-q", path)
    wanted_state = state(wanted)
    n_killed = 0
    for n in range(shard * 3, 1000, FORMS[form]):
        kb = copy(model, tmp_path / f"at-{n}")
        if not killed(kb, path, n):
            break
        n_killed += 1
        assert_whole(kb)
        kb.ok("import", "-q", path)
        assert state(kb) == wanted_state
        shutil.rmtree(kb.top, ignore_errors=True)
    assert n_killed >= 2
