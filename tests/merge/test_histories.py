"""Two branches that ingest different sources, merged by git alone: no conflict, and what one branch would have given.

GIT_KB_HISTORIES is how many random histories are tried.
"""

import os
import random

import pytest
from kb import Kb, git

N_HISTORIES = int(os.environ.get("GIT_KB_HISTORIES", "20"))
WORDS = [
    "hive",
    "colony",
    "syrup",
    "swarm",
    "queen",
    "drone",
    "comb",
    "wax",
    "honey",
    "frame",
    "smoke",
    "veil",
    "skep",
    "nectar",
    "pollen",
    "brood",
]
SUFFIXES = (".md", ".txt", ".rst", ".json")
DIRECTORIES = ("docs", "docs/deep", "notes")


def text(rng, suffix):
    def paragraph():
        return " ".join(rng.choices(WORDS, k=rng.randint(3, 12))).capitalize() + "."

    if suffix == ".json":
        return f'{{"{rng.choice(WORDS)}": "{paragraph()}"}}\n'
    parts = []
    for _ in range(rng.randint(1, 4)):
        title = " ".join(rng.choices(WORDS, k=2)).capitalize()
        if suffix == ".md":
            parts.append(f"{'#' * rng.randint(1, 3)} {title}\n\n")
        elif suffix == ".rst":
            parts.append(f"{title}\n{'=' * len(title)}\n\n")
        parts += [paragraph() + "\n\n" for _ in range(rng.randint(1, 3))]
    front = f"---\ntags: [{rng.choice(WORDS)}]\n---\n" if suffix == ".md" and rng.random() < 0.2 else ""
    return front + "".join(parts)


def edits(rng, name, files):
    """Return commits of one branch, each a list of (path, its new text, None to delete it). `files`: those it may touch, path -> text."""
    commits = []
    for n in range(rng.randint(1, 3)):
        changes = {}
        for m in range(rng.randint(1, 3)):
            what = rng.choice(["add", "add", "edit", "edit", "delete", "move"])
            mine = sorted(set(files) - set(changes))
            suffix = rng.choice(SUFFIXES)
            new = f"{rng.choice(DIRECTORIES)}/{rng.choice(WORDS)} {name}{n}{m}{suffix}"
            if what == "add" or not mine:
                changes[new] = text(rng, suffix)
            elif what == "edit":
                path = rng.choice(mine)
                lines = files[path].splitlines(keepends=True)
                lines.insert(rng.randint(0, len(lines)), rng.choice(["\n", "A new line of wax.\n", "## Another\n\n"]))
                changes[path] = "".join(lines) if not path.endswith(".json") else text(rng, ".json")
            else:
                path = rng.choice(mine)
                changes[path] = None
                if what == "move":
                    changes[os.path.splitext(new)[0] + os.path.splitext(path)[1]] = files[path]
        for path, content in changes.items():
            if content is None:
                files.pop(path, None)
            else:
                files[path] = content
        commits.append(list(changes.items()))
    return commits


def apply(kb, commits):
    for n, changes in enumerate(commits):
        for path, content in changes:
            if content is None:
                os.unlink(kb.path(path))
            else:
                kb.write(path, content)
        kb.ok("ingest", "-q", "--prune", "--no-near-duplicates")
        git("add", "-A", cwd=kb.top)
        git("commit", "-q", "--allow-empty", "-m", f"commit {n}", cwd=kb.top)


def both_branches(kb, rng):
    """Make branches `one` and `two` that touch different sources, and `linear`, which has the commits of both, one after the other."""
    base = {f"{d}/keep.md": text(rng, ".md") for d in DIRECTORIES}
    base |= {f"{rng.choice(DIRECTORIES)}/{n}{suffix}": text(rng, suffix) for n, suffix in enumerate(rng.choices(SUFFIXES, k=6))}
    for path, content in base.items():
        kb.write(path, content)
    kb.ok("init", "-q")
    for name in ("manifest", "page", "index"):
        git("config", "--remove-section", f"merge.kb-{name}", cwd=kb.top)
    kb.ok("ingest", "-q", "--no-near-duplicates")
    kb.commit("base")
    touched = sorted(p for p in base if not p.endswith("keep.md"))
    shares = rng.sample(touched, k=len(touched))
    commits = {
        "one": edits(rng, "a", {p: base[p] for p in shares[:3]}),
        "two": edits(rng, "b", {p: base[p] for p in shares[3:]}),
    }
    for name in commits:
        git("switch", "-q", "-c", name, "main", cwd=kb.top)
        apply(kb, commits[name])
    git("switch", "-q", "-c", "linear", "main", cwd=kb.top)
    apply(kb, [*commits["one"], *commits["two"]])


@pytest.mark.parametrize("seed", range(N_HISTORIES))
def test_stock_git_merges_disjoint_ingests_as_one_branch_has_them(tmp_path, seed):
    """Both ways round, with no configuration of ours; an ingest afterwards has nothing to do."""
    kb = Kb.create(tmp_path / "r", {})
    both_branches(kb, random.Random(seed))
    linear = git("rev-parse", "linear^{tree}", cwd=kb.top)
    for ours, theirs in (("one", "two"), ("two", "one")):
        git("switch", "-q", ours, cwd=kb.top)
        git("merge", "-q", "-m", "merge", theirs, cwd=kb.top)
        assert git("rev-parse", "HEAD^{tree}", cwd=kb.top) == linear
        git("reset", "-q", "--hard", "HEAD^", cwd=kb.top)
    git("merge", "-q", "-m", "merge", "one", cwd=kb.top)
    assert "0 new, 0 changed" in kb.run("ingest", "--prune").err
    assert git("status", "--porcelain", cwd=kb.top) == ""
    if seed % 8 == 0:
        kb.ok("search", "wax")
        kb.check()
