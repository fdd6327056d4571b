"""`git kb ingest --commit`: exactly the manifests, by git's own rules, and the user's index as it was."""

import os

import pytest
from kb import CORPUS, GUIDE, Kb, assert_message, git

CHANGED = GUIDE.replace("syrup", "fondant")
MANIFEST = "kb/documents/docs--guide.md.toml"


@pytest.fixture
def kb(tmp_path):
    """All committed, then one source changed and committed by itself."""
    kb = Kb.ready(tmp_path / "r")
    kb.write("docs/guide.md", CHANGED)
    kb.commit("guide")
    return kb


def files_of(kb, rev="HEAD"):
    return kb.git("show", "--format=", "--name-status", "--no-renames", rev).splitlines()


def hook(kb, name, text, directory=".git/hooks"):
    kb.write(f"{directory}/{name}", f"#!/bin/sh\n{text}\n")
    os.chmod(kb.path(f"{directory}/{name}"), 0o755)


def test_exactly_the_manifests_and_a_clean_status(kb):
    out = kb.run("ingest", "--commit")
    assert (out.code, out.out) == (0, "")
    assert "committed 1 file of 1 source: " + kb.git("rev-parse", "--short=10", "HEAD") in out.err
    assert files_of(kb) == [f"M\t{MANIFEST}"]
    assert kb.git("status", "--porcelain") == ""
    # Nothing has to be read again to know that.
    assert kb.git("diff-files", "--name-only") == ""
    assert kb.git("log", "-1", "--format=%B") == "kb: ingest docs/guide.md\n\nKb-Operation: ingest\nKb-Source: docs/guide.md\n"
    assert kb.run("ingest", "--commit").err.endswith("nothing to commit: HEAD has the manifests of these sources as they are\n")
    kb.check()


def test_the_message(kb):
    kb.ok("ingest", "--commit", "-m", "-- what\n# I say", "-m", "more")
    assert kb.git("log", "-1", "--format=%B") == "-- what\n# I say\n\nmore\n"
    assert kb.run("ingest", "-m", "x").code == 129
    before = kb.git("rev-parse", "HEAD")
    kb.write("notes.txt", "Other words.\n")
    assert kb.run("ingest", "--commit", "-m", "").code == 1
    assert (kb.git("rev-parse", "HEAD"), kb.git("diff", "--cached", "--name-only")) == (before, "")


def test_json_and_dry_run(kb):
    head = kb.git("rev-parse", "HEAD")
    kb.ok("ingest", "--commit", "--dry-run")
    assert kb.git("rev-parse", "HEAD") == head
    assert "commit" not in kb.json("ingest", "-n")
    assert kb.json("ingest", "--commit")["commit"] == kb.git("rev-parse", "HEAD") != head
    assert kb.json("ingest", "--commit")["commit"] is None


def test_staged_work_stays_staged(kb):
    kb.write("new.txt", "staged\n")
    kb.write("src/weigh.py", "x = 1\n")
    kb.write("only", "announced")
    kb.git("add", "new.txt", "src/weigh.py")
    kb.git("add", "-N", "only")
    kb.git("rm", "-q", "--cached", "notes.txt")
    kb.write("src/weigh.py", "x = 2\n")
    before = kb.git("diff", "--cached", "--raw", "--no-renames")
    unstaged = kb.git("diff", "--raw")
    kb.ok("ingest", "-q", "--commit", "docs")
    assert files_of(kb) == [f"M\t{MANIFEST}"]
    assert kb.git("diff", "--cached", "--raw", "--no-renames") == before
    assert kb.git("diff", "--raw") == unstaged


def test_only_the_sources_that_are_named(kb):
    kb.write("notes.txt", "Other words of swarms.\n")
    kb.ok("ingest", "-q")
    kb.ok("ingest", "-q", "--commit", "docs/guide.md")
    assert files_of(kb) == [f"M\t{MANIFEST}"]
    assert kb.git("status", "--porcelain").split() == ["M", "kb/documents/notes.txt.toml", "M", "notes.txt"]
    kb.ok("ingest", "-q", "--commit", "../notes.txt", cwd="docs")
    assert files_of(kb) == ["M\tkb/documents/notes.txt.toml"]


def test_a_staged_manifest_gives_way_to_what_is_committed(kb):
    kb.write(MANIFEST, kb.read(MANIFEST).replace(b"Guide", b"Guido"))
    kb.git("add", MANIFEST)
    kb.ok("ingest", "-q", "--commit")
    assert kb.git("status", "--porcelain") == ""


def test_moves_and_prunes(kb):
    kb.git("mv", "docs/guide.md", "docs/manual.md")
    kb.git("rm", "-q", "notes.txt")
    kb.commit("moved")
    kb.ok("ingest", "-q", "--prune", "--commit", "docs")
    assert files_of(kb) == [f"D\t{MANIFEST}", "A\tkb/documents/docs--manual.md.toml"]
    kb.ok("ingest", "-q", "--prune", "--commit")
    assert files_of(kb) == ["D\tkb/documents/notes.txt.toml"]
    assert kb.git("status", "--porcelain") == ""


def test_a_new_knowledge_base_on_an_unborn_branch(tmp_path):
    kb = Kb.create(tmp_path / "r", {})
    for name, text in CORPUS.items():
        kb.write(name, text)
    kb.ok("init", "-q")
    done = kb.run("ingest", "--commit")
    assert done.code == 0
    assert "not in it: kb.config.json and .gitattributes" in done.err
    tracked = kb.git("ls-tree", "-r", "--name-only", "HEAD").split()
    assert tracked == ["kb/AGENTS.md", "kb/catalog.toml", *sorted(f"kb/documents/{n}" for n in kb.manifests())]
    assert kb.git("diff", "--cached", "--name-only") == ""
    assert kb.ok("ls-documents", "--at", "HEAD")


def test_detached_head_linked_work_tree_and_sha256(kb, tmp_path):
    kb.git("checkout", "-q", "--detach")
    kb.ok("ingest", "-q", "--commit", "docs")
    assert kb.git("rev-parse", "HEAD~1") == kb.git("rev-parse", "main")
    kb.git("worktree", "add", "-q", str(tmp_path / "linked"), "main")
    linked = Kb(tmp_path / "linked")
    linked.ok("ingest", "-q", "--commit")
    assert linked.git("rev-parse", "main~1") == kb.git("rev-parse", "HEAD~1")
    assert linked.git("status", "--porcelain") == kb.git("status", "--porcelain") == ""
    other = Kb.create(tmp_path / "sha256", object_format="sha256")
    other.ok("init", "-q")
    other.ok("ingest", "-q", "--commit")
    assert other.git("diff", "--cached", "--name-only") == ""


def test_hooks_run_with_an_index_of_what_is_committed(kb):
    hook(kb, "pre-commit", "git diff --cached --name-only >&2; env | grep '^GIT_' >&2; git diff --quiet -- docs || exit 9")
    hook(kb, "post-commit", "git status --porcelain >&2; echo done >&2")
    hook(kb, "commit-msg", 'echo "Checked: yes" >>"$1"')
    kb.write("new.txt")
    kb.git("add", "new.txt")
    done = kb.run("ingest", "--commit")
    assert done.code == 0
    lines = done.err.splitlines()
    assert MANIFEST in lines
    assert "new.txt" not in lines
    # As git itself has it, a hook in the main work tree is free to look at other repositories.
    assert "GIT_DIR=" not in done.err
    assert "GIT_WORK_TREE=" not in done.err
    assert "GIT_OPTIONAL_LOCKS=" not in done.err
    assert "done" in lines
    assert kb.git("log", "-1", "--format=%(trailers:key=Checked,valueonly)").strip() == "yes"
    assert kb.git("diff", "--cached", "--name-only") == "new.txt"


@pytest.mark.parametrize("directory", [".git/hooks", "own-hooks"])
def test_a_hook_that_refuses(kb, directory):
    if directory != ".git/hooks":
        kb.git("config", "core.hooksPath", directory)
    hook(kb, "pre-commit", "echo 'not on a monday' >&2; exit 1", directory)
    kb.write("new.txt")
    kb.write("announced.txt")
    kb.git("add", "new.txt")
    kb.git("add", "-N", "announced.txt")
    before, head = kb.git("ls-files", "-s"), kb.git("rev-parse", "HEAD")
    done = kb.run("ingest", "-q", "--commit")
    assert done.code == 1
    assert "not on a monday\nerror: git did not commit\nhint: " in done.err
    # What git says of each file is what it was.
    assert (kb.git("ls-files", "-s"), kb.git("rev-parse", "HEAD")) == (before, head)
    assert kb.git("diff", "--cached", "--name-only") == "new.txt"
    assert MANIFEST in kb.git("diff", "--name-only")
    # The next one brings in what this one could not.
    os.unlink(kb.path(f"{directory}/pre-commit"))
    kb.ok("ingest", "-q", "--commit")
    assert f"M\t{MANIFEST}" in files_of(kb)


def test_a_refused_commit_leaves_an_announced_manifest_announced(kb):
    kb.write("more.md", "# More\n\nText.\n")
    kb.ok("ingest", "-q")
    kb.git("add", "-N", "kb/documents/more.md.toml")
    hook(kb, "pre-commit", "exit 1")
    before = kb.git("status", "--porcelain")
    assert kb.run("ingest", "--commit").code == 1
    assert kb.git("status", "--porcelain") == before


@pytest.mark.parametrize("staged", [False, True])
def test_what_a_hook_stages_is_no_staged_deletion_afterwards(kb, staged):
    """The trap of `git commit -- <path>`: what a hook adds is in the commit, but not in the user's index."""
    hook(kb, "pre-commit", "echo made >made.txt; echo changed >notes.txt; git add made.txt notes.txt")
    if staged:
        kb.write("made.txt", "mine\n")
        kb.git("add", "made.txt")
        mine = kb.git("rev-parse", ":made.txt")
    kb.ok("ingest", "-q", "--commit", "docs")
    assert files_of(kb) == [f"M\t{MANIFEST}", "A\tmade.txt", "M\tnotes.txt"]
    assert kb.git("diff", "--cached", "--name-status") == ("M\tmade.txt" if staged else "")
    assert not staged or kb.git("rev-parse", ":made.txt") == mine


def test_signatures(kb, tmp_path):
    program = tmp_path / "gpg"
    program.write_text(
        '#!/bin/sh\necho "$@" >>"$(dirname "$0")/asked"\ncat >/dev/null\n'
        'echo "[GNUPG:] SIG_CREATED D 1 8 00 1 F" >&2\nprintf -- "-----BEGIN PGP SIGNATURE-----\\n\\nfake\\n-----END PGP SIGNATURE-----\\n"\n'
    )
    program.chmod(0o755)
    kb.git("config", "commit.gpgsign", "true")
    kb.git("config", "gpg.program", str(program))
    kb.git("config", "user.signingKey", "the-key")
    kb.ok("ingest", "-q", "--commit")
    assert "gpgsig -----BEGIN PGP SIGNATURE-----" in kb.git("cat-file", "commit", "HEAD")
    assert "the-key" in (tmp_path / "asked").read_text()
    program.write_text("#!/bin/sh\necho 'no secret key' >&2\nexit 2\n")
    kb.write("notes.txt", "Other words.\n")
    head = kb.git("rev-parse", "HEAD")
    done = kb.run("ingest", "-q", "--commit")
    assert done.code == 128
    assert "gpg failed to sign the data" in done.err
    assert "fatal: git did not commit" in done.err
    assert (kb.git("rev-parse", "HEAD"), kb.git("diff", "--cached", "--name-only")) == (head, "")


def test_without_an_identity(kb, monkeypatch):
    for role in ("AUTHOR", "COMMITTER"):
        for what in ("NAME", "EMAIL"):
            monkeypatch.delenv(f"GIT_{role}_{what}")
    kb.git("config", "user.useConfigOnly", "true")
    head = kb.git("rev-parse", "HEAD")
    done = kb.run("ingest", "-q", "--commit")
    assert done.code == 128
    assert "Please tell me who you are" in done.err
    assert (kb.git("rev-parse", "HEAD"), kb.git("diff", "--cached", "--name-only")) == (head, "")


@pytest.mark.parametrize("operation", ["merge", "cherry-pick", "revert"])
def test_in_the_middle_of_something(kb, operation):
    kb.git("checkout", "-q", "-b", "side")
    kb.write("notes.txt", "Theirs.\n")
    kb.commit("theirs")
    kb.git("checkout", "-q", "main")
    kb.write("notes.txt", "Ours.\n")
    kb.commit("ours")
    what = {"merge": ["side"], "cherry-pick": ["side"], "revert": ["HEAD~1"]}[operation]
    kb.git(operation, "--no-commit" if operation == "revert" else "--no-gpg-sign", *what, check=False)
    head, before = kb.git("rev-parse", "HEAD"), kb.git("ls-files", "-s")
    manifests = kb.manifests()
    assert_message(kb.run("ingest", "--commit", "docs"), 128, f"cannot commit some files during a {operation}", "--abort")
    assert (kb.git("rev-parse", "HEAD"), kb.git("ls-files", "-s"), kb.manifests()) == (head, before, manifests)
    kb.git("add", "-A")
    assert_message(kb.run("ingest", "--commit", "docs"), 128, f"during a {operation}")


def test_unmerged_files_of_a_stash(kb):
    kb.write("notes.txt", "Stashed.\n")
    kb.git("stash", "-q")
    kb.write("notes.txt", "Ours.\n")
    kb.commit("ours")
    kb.git("stash", "pop", check=False)
    assert_message(kb.run("ingest", "--commit", "docs"), 128, "unmerged files")


def test_a_lock_of_somebody_else(kb):
    kb.write(".git/index.lock", "")
    head = kb.git("rev-parse", "HEAD")
    done = kb.run("ingest", "-q", "--commit")
    assert done.code == 128
    assert "index.lock" in done.err
    assert kb.git("rev-parse", "HEAD") == head
    os.unlink(kb.path(".git/index.lock"))
    kb.ok("ingest", "-q", "--commit")
    assert files_of(kb) == [f"M\t{MANIFEST}"]


def test_line_ends_as_git_would_store_them(kb):
    kb.git("config", "core.autocrlf", "true")
    kb.ok("ingest", "-q", "--commit")
    assert b"\r" not in git("cat-file", "blob", f"HEAD:{MANIFEST}", cwd=kb.top).encode()
    assert kb.git("status", "--porcelain") == ""


def test_a_damaged_manifest_and_a_link_are_not_committed(kb, tmp_path):
    kb.ok("ingest", "-q")
    kb.write("kb/documents/notes.txt.toml", b"\xff\xff")
    done = kb.run("ingest", "-q", "--commit", "docs")
    assert done.code == 0
    assert files_of(kb) == [f"M\t{MANIFEST}"]
    os.unlink(kb.path("kb/documents/src--weigh.py.toml"))
    os.symlink(tmp_path / "x", kb.path("kb/documents/src--weigh.py.toml"))
    kb.run("ingest", "-q", "--commit", "docs")
    assert kb.git("ls-tree", "HEAD", "kb/documents/src--weigh.py.toml").startswith("100644")


def test_nothing_of_it_is_left(kb):
    kb.ok("ingest", "-q", "--commit")
    assert not [name for name in os.listdir(kb.path(".git/kb")) if name.startswith(b"commit-")]
    os.makedirs(kb.path(".git/kb/commit-killed"))
    os.utime(kb.path(".git/kb/commit-killed"), (0, 0))
    kb.write("docs/guide.md", GUIDE)
    kb.ok("ingest", "-q", "--commit")
    assert not os.path.exists(kb.path(".git/kb/commit-killed"))
