"""Installing and removing hooks: nothing of anybody's is lost, and git runs what we say it runs."""

import json
import os
import subprocess

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from kb import Kb, assert_message, git
from odd import directory, named_pipe

from git_kb.hooks.managers import lefthook_snippet, pre_commit_snippet
from git_kb.hooks.place import config_hooks, runs_config_hooks
from git_kb.hooks.script import HOOKS, hook_script, is_edited, is_ours, runs_us

from .hooked import damage, hooks_dir, listing, put_hook, try_commit

NOTE = 'echo "$(basename "$0") $*" >>"$(git rev-parse --git-dir)/seen"\n'


def seen(kb):
    path = os.path.join(kb.top, ".git", "seen")
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return file.read().splitlines()


def states(kb, **more):
    done = kb.run("hooks", "status", "--json", **more)
    return done.code, {hook["name"]: hook for hook in json.loads(done.out)["hooks"]}


@pytest.mark.parametrize("name", HOOKS)
def test_scripts_are_for_any_posix_shell(name):
    script = hook_script(name)
    assert subprocess.run(["sh", "-n"], input=script).returncode == 0
    assert script.startswith(b"#!/bin/sh\n# git-kb hook " + name.encode() + b" ")
    assert is_ours(script, name)
    assert not is_edited(script, name)
    assert not any(is_ours(script, other) for other in HOOKS if other != name)
    assert b"@" not in script.replace(b'"$@"', b"")


@given(st.sampled_from(HOOKS), st.data())
def test_a_changed_script_is_nobodys_to_delete(name, data):
    script = hook_script(name)
    at = data.draw(st.integers(0, len(script)))
    other = script[:at] + data.draw(st.binary(min_size=1, max_size=5)) + script[at + data.draw(st.integers(0, 3)) :]
    assert is_ours(other, name) == (other == script)


@given(st.binary(max_size=300))
def test_any_bytes_are_somebodys_hook(data):
    assert not is_ours(data, "pre-commit")
    runs_us(data, "pre-commit")


def test_install_and_uninstall_leave_no_trace(kb):
    directory = hooks_dir(kb)
    before = listing(directory)
    assert states(kb)[0] == 1
    kb.ok("hooks", "install", "--dry-run")
    assert listing(directory) == before
    kb.ok("hooks", "install")
    installed = listing(directory)
    assert set(installed) - set(before) == set(HOOKS)
    assert all(installed[name] == (0o100755 & ~umask() | 0o100000, hook_script(name)) for name in HOOKS)
    inodes = [os.stat(os.path.join(directory, name)).st_ino for name in HOOKS]
    kb.ok("hooks", "install")
    assert listing(directory) == installed
    assert inodes == [os.stat(os.path.join(directory, name)).st_ino for name in HOOKS]
    assert states(kb)[0] == 0
    kb.ok("hooks", "uninstall", "-n")
    assert listing(directory) == installed
    kb.ok("hooks", "uninstall")
    assert listing(directory) == before
    kb.ok("hooks", "uninstall")
    assert listing(directory) == before


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_without_a_hooks_directory(kb):
    for name in os.listdir(hooks_dir(kb)):
        os.unlink(os.path.join(hooks_dir(kb), name))
    os.rmdir(hooks_dir(kb))
    kb.ok("hooks", "install")
    damage(kb)
    assert not try_commit(kb)[0]


FOREIGN = {
    "ends with exec": "#!/bin/sh\n" + NOTE + "exec true\n",
    "leaves in the middle": "#!/bin/sh\n" + NOTE + "exit 0\necho never\n",
    "no line end": "#!/bin/sh\n" + NOTE + "true",
    "python": ("#!/usr/bin/env python3\nimport os, sys\nopen('.git/seen', 'a').write(os.path.basename(sys.argv[0]) + ' \\n')\n"),
    "crlf inside": "#!/bin/sh\n" + NOTE + ": '\r\n'\n",
    "bytes": "#!/bin/sh\n" + NOTE + "# \udcff\n",
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("mode", [0o755, 0o700, 0o644])
@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_foreign_hook_runs_first_and_comes_back(kb, text, mode, kind):
    path = put_hook(kb, "pre-commit", "")
    if kind == "link":
        os.unlink(path)
        os.symlink("../own-hook", path)
    with open(path, "wb") as file:
        file.write(os.fsencode(text))
    os.chmod(path, mode)
    before = listing(hooks_dir(kb))
    kb.ok("hooks", "install")
    kb.ok("hooks", "install")
    assert listing(hooks_dir(kb))["pre-commit.kb-prev"] == before["pre-commit"]
    code, hooks = states(kb)
    assert code == 0
    assert hooks["pre-commit"]["previous"] == ("runs" if mode & 0o100 else "ignored")
    damage(kb)
    made, err = try_commit(kb)
    assert not made
    assert "damaged_manifest" in err
    assert seen(kb) == (["pre-commit.kb-prev "] if mode & 0o100 else [])
    kb.ok("hooks", "uninstall")
    assert listing(hooks_dir(kb)) == before


def test_a_foreign_hook_that_fails_stops_the_commit(kb, program):
    put_hook(kb, "pre-commit", "#!/bin/sh\necho no way >&2\nexit 7\n")
    kb.ok("hooks", "install")
    kb.write("notes.txt", "other")
    made, err = try_commit(kb, "-a")
    assert not made
    assert err == "no way\n"
    assert program() == []


def test_foreign_hooks_get_what_git_gives(kb):
    for name in ("post-checkout", "post-rewrite", "post-merge"):
        put_hook(kb, name, f'#!/bin/sh\necho "{name} $*: $(cat)" >>.git/seen\n')
    kb.ok("hooks", "install")
    old = kb.git("rev-parse", "HEAD")
    kb.git("commit", "-q", "--amend", "-m", "other")
    new = kb.git("rev-parse", "HEAD")
    kb.git("switch", "-q", "-c", "side", "HEAD^")
    end = kb.git("rev-parse", "HEAD")
    kb.git("merge", "-q", "main")
    assert seen(kb) == [f"post-rewrite amend: {old} {new}", f"post-checkout {new} {end} 1: ", "post-merge 0: "]


def test_the_status_of_a_foreign_post_checkout_stays(kb):
    put_hook(kb, "post-checkout", "#!/bin/sh\nexit 5\n")
    before = subprocess.run(["git", "switch", "-q", "-c", "one"], cwd=kb.top).returncode
    kb.ok("hooks", "install")
    assert subprocess.run(["git", "switch", "-q", "-c", "two"], cwd=kb.top).returncode == before != 0


OUTSIDE = ["local", "global"]


@pytest.mark.parametrize("scope", OUTSIDE)
def test_hooks_outside_of_the_repository_are_left_alone(kb, tmp_path, scope):
    elsewhere = tmp_path / "my hooks"
    elsewhere.mkdir()
    (elsewhere / "pre-commit").write_text("#!/bin/sh\n")
    kb.git("config", f"--{scope}", "core.hooksPath", str(elsewhere))
    before = listing(elsewhere), listing(os.path.join(kb.top, ".git", "hooks"))
    done = kb.run("hooks", "install")
    assert done.code == 1
    assert f"in '{elsewhere}' (core.hooksPath: {scope}, file:" in done.err
    assert (listing(elsewhere), listing(os.path.join(kb.top, ".git", "hooks"))) == before
    lines = [line.strip().split(":\t") for line in done.out.splitlines() if ":\t" in line]
    assert [name for name, _ in lines] == list(HOOKS)
    for name, line in lines:
        (elsewhere / name).write_text(f"#!/bin/sh\n{line}\n")
        (elsewhere / name).chmod(0o755)
    assert states(kb)[0] == 0
    damage(kb)
    assert not try_commit(kb)[0]


def test_a_link_out_of_the_repository_is_outside(kb, tmp_path):
    os.rename(hooks_dir(kb), tmp_path / "shared")
    os.symlink(tmp_path / "shared", hooks_dir(kb))
    before = listing(tmp_path / "shared")
    assert kb.run("hooks", "install").code == 1
    assert listing(tmp_path / "shared") == before


@pytest.mark.parametrize("path", [".git/hooks", ".githooks", "$TOP/.git/hooks", "$TOP/tools/my hooks"])
def test_a_hooks_path_inside_is_followed(kb, path):
    path = path.replace("$TOP", kb.top)
    kb.git("config", "core.hooksPath", path)
    kb.ok("hooks", "install")
    assert os.path.exists(os.path.join(kb.top, path, "pre-commit"))
    assert states(kb)[0] == 0
    damage(kb)
    assert not try_commit(kb)[0]


MANAGED = [
    ("pre-commit", ".pre-commit-config.yaml", "repos: []\n"),
    ("pre-commit", ".git/hooks/pre-commit", "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n"),
    ("lefthook", "lefthook.yml", ""),
    ("lefthook", ".lefthook.toml", ""),
    ("lefthook", ".git/hooks/post-merge", '#!/bin/sh\ncall_lefthook()\n{\n}\ncall_lefthook run "post-merge" "$@"\n'),
    ("husky", ".husky/pre-commit", "npm test\n"),
    ("husky", ".git/hooks/pre-commit", "#!/bin/sh\n# husky\n"),
]


@pytest.mark.parametrize(("manager", "path", "text"), MANAGED)
def test_hook_managers_get_a_snippet(kb, manager, path, text):
    kb.write(path, text)
    before = listing(hooks_dir(kb))
    done = kb.run("hooks", "install")
    assert done.code == 1
    assert done.err.startswith(f"error: {manager} manages the hooks of this repository")
    assert all(f"git-kb hooks run {name}" in done.out for name in HOOKS)
    assert listing(hooks_dir(kb)) == before


CALLED = [
    (".pre-commit-config.yaml", "repos:\n  - repo: local\n    hooks:\n      - id: x\n        entry: git-kb hooks run pre-commit\n"),
    (".pre-commit-config.yaml", "repos:\n  - repo: somewhere\n    hooks:\n      - id: kb-check\n"),
    ("lefthook.yml", "pre-commit:\n  commands:\n    kb:\n      run: git kb hooks run pre-commit {0}\n"),
    (".husky/pre-commit", 'git-kb hooks run pre-commit "$@"\n'),
]


@pytest.mark.parametrize(("path", "text"), CALLED)
def test_status_knows_what_a_manager_runs(kb, path, text):
    kb.write(path, text)
    assert states(kb)[1]["pre-commit"]["runs"] is False
    assert "has not installed its hook" in states(kb)[1]["pre-commit"]["state"]
    put_hook(kb, "pre-commit", "#!/bin/sh\n# a manager's\n")
    put_hook(kb, "post-merge", "#!/bin/sh\n# a manager's\n")
    assert [states(kb)[1][name]["runs"] for name in ("pre-commit", "post-merge")] == [True, False]
    kb.write(path, "".join(f"# {line}\n" for line in text.splitlines()))
    assert states(kb)[1]["pre-commit"]["runs"] is False


def test_the_snippets_for_managers_are_of_their_form():
    parsed = yaml.safe_load(pre_commit_snippet().partition(":\n\n")[2].partition("\nthen run")[0])
    assert [hook["stages"] for hook in parsed[0]["hooks"]] == [[name] for name in HOOKS]
    assert len({hook["id"] for hook in parsed[0]["hooks"]}) == len(HOOKS)
    parsed = yaml.safe_load(lefthook_snippet().partition(":\n\n")[2].partition("\nthen run")[0])
    assert [(name, hook["commands"]["git-kb"]["run"]) for name, hook in parsed.items()] == [
        (name, f"git-kb hooks run {name} {{0}}") for name in HOOKS
    ]


def test_the_snippet_for_husky_works(kb):
    """Husky's own scripts source a file below .husky/_; with hooksPath at .husky they are plain hooks."""
    os.mkdir(os.path.join(kb.top, ".husky"))
    done = kb.run("hooks", "install")
    for line in done.out.splitlines():
        if line.startswith("    "):
            subprocess.run(line, shell=True, cwd=kb.top, check=True)
    for name in HOOKS:
        path = os.path.join(kb.top, ".husky", name)
        with open(path) as file:
            text = file.read()
        assert runs_us(text.encode(), name)
        put_hook(kb, name, "#!/bin/sh\n" + text)
    damage(kb)
    assert not try_commit(kb)[0]


def test_linked_work_trees_have_the_hooks_of_the_main_one(kb, tmp_path):
    linked = Kb(tmp_path / "linked")
    kb.git("worktree", "add", "-q", "-b", "work", linked.top)
    linked.ok("hooks", "install", cwd="docs")
    assert set(HOOKS) <= set(os.listdir(os.path.join(kb.top, ".git", "hooks")))
    assert not os.path.exists(os.path.join(kb.top, ".git", "worktrees", "linked", "hooks"))
    assert states(linked)[0] == states(linked, cwd="docs")[0] == states(kb)[0] == 0
    head = kb.git("rev-parse", "HEAD")
    index = kb.read(".git/index")
    damage(linked)
    made, err = try_commit(linked)
    assert not made
    assert "damaged_manifest" in err
    linked.git("checkout", "-q", "HEAD", "--", "kb")
    linked.write("docs/guide.md", "# Guide\n")
    made, err = try_commit(linked, "-a")
    assert made
    assert "\tdocs/guide.md\n" in err
    assert (kb.git("rev-parse", "HEAD"), kb.read(".git/index"), kb.git("status", "--porcelain")) == (head, index, "")


def test_in_a_submodule_the_superproject_stays_as_it_is(kb, tmp_path):
    top = tmp_path / "super"
    git("init", "-q", "-b", "main", str(top), cwd=tmp_path)
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", kb.top, "sub", cwd=top)
    git("commit", "-q", "-m", "sub", cwd=top)
    before = listing(top / ".git" / "hooks")
    sub = Kb(top / "sub")
    sub.ok("hooks", "install")
    assert states(sub)[0] == 0
    assert set(HOOKS) <= set(os.listdir(top / ".git" / "modules" / "sub" / "hooks"))
    damage(sub)
    assert not try_commit(sub)[0]
    sub.git("checkout", "-q", "HEAD", "--", "kb")
    sub.write("docs/guide.md", "# Guide\n")
    assert try_commit(sub, "-a")[0]
    assert listing(top / ".git" / "hooks") == before
    assert git("status", "--porcelain", cwd=top) == " M sub"
    assert not (top / "kb").exists()
    assert not (top / ".git" / "kb").exists()


def test_two_hooks_are_never_made_one(kb):
    """Another tool has put its hook over ours, and what was there at first is in the .kb-prev."""
    put_hook(kb, "post-merge", "#!/bin/sh\n# first\n")
    kb.ok("hooks", "install")
    put_hook(kb, "post-merge", "#!/bin/sh\n# second\n")
    before = listing(hooks_dir(kb))
    assert_message(kb.run("hooks", "install"), 1, "post-merge", "nothing was written")
    assert listing(hooks_dir(kb)) == before
    code, hooks = states(kb)
    assert (code, hooks["post-merge"]["runs"], hooks["pre-commit"]["runs"]) == (1, False, True)
    done = kb.run("hooks", "uninstall")
    assert done.code == 0
    assert "post-merge" in done.err
    left = listing(hooks_dir(kb))
    assert {name: left[name] for name in ("post-merge", "post-merge.kb-prev")} == {
        name: before[name] for name in ("post-merge", "post-merge.kb-prev")
    }
    assert "pre-commit" not in left


@pytest.mark.parametrize("action", ["install", "uninstall"])
def test_what_was_changed_by_hand_stays(hooked, action):
    path = os.path.join(hooks_dir(hooked), "post-rewrite")
    with open(path, "a") as file:
        file.write("echo mine\n")
    before = listing(hooks_dir(hooked))
    assert_message(hooked.run("hooks", action), 1, "post-rewrite", "changed by hand", "hint: ")
    assert listing(hooks_dir(hooked)) == before


def test_a_script_of_another_version_is_updated(hooked):
    from hashlib import sha256

    body = b"# an older text\nexit 0\n"
    path = os.path.join(hooks_dir(hooked), "post-merge")
    with open(path, "wb") as file:
        file.write(b"#!/bin/sh\n# git-kb hook post-merge 0 %s\n" % sha256(body).hexdigest()[:12].encode() + body)
    assert states(hooked)[1]["post-merge"]["content"] == "old"
    hooked.ok("hooks", "install")
    assert listing(hooks_dir(hooked))["post-merge"][1] == hook_script("post-merge")


def test_a_hook_that_is_not_executable_is_not_run(hooked):
    os.chmod(os.path.join(hooks_dir(hooked), "pre-commit"), 0o644)
    code, hooks = states(hooked)
    assert (code, hooks["pre-commit"]["runs"]) == (1, False)
    hooked.ok("hooks", "install")
    assert states(hooked)[0] == 0


@pytest.mark.parametrize("odd", [directory, named_pipe])
def test_what_is_no_hook_is_told(kb, odd):
    odd(os.path.join(hooks_dir(kb), "post-merge"))
    for action in ("install", "uninstall", "status"):
        assert_message(kb.run("hooks", action), 1, "post-merge", "move it away")
    assert "pre-commit" not in os.listdir(hooks_dir(kb))


def test_a_hook_of_ones_own_that_calls_us_is_enough(kb):
    put_hook(kb, "pre-commit", "#!/bin/sh\n# git kb hooks run post-merge\ngit kb hooks run pre-commit || exit\n")
    before = listing(hooks_dir(kb))["pre-commit"]
    kb.ok("hooks", "install")
    assert listing(hooks_dir(kb))["pre-commit"] == before
    assert states(kb)[0] == 0
    assert not runs_us(b"# git kb hooks run pre-commit\n", "pre-commit")


def test_without_a_work_tree(kb, tmp_path):
    git("clone", "-q", "--bare", kb.top, str(tmp_path / "bare"), cwd=tmp_path)
    for args in (["install"], ["status"], ["run", "post-commit"]):
        assert_message(Kb(tmp_path / "bare").run("hooks", *args), 128, "work tree")


MISUSE = [
    [],
    ["run"],
    ["run", "pre-push"],
    ["instal"],
    ["install", "pre-commit"],
    ["run", "pre-commit", "--stop-code", "0"],
    ["run", "pre-commit", "--stop-code", "300"],
    ["run", "--stop-code"],
    ["status", "--porcelain"],
]


@pytest.mark.parametrize("args", MISUSE, ids=" ".join)
def test_misuse(kb, args):
    assert_message(kb.run("hooks", *args), 129, "usage: git kb hooks")


BROKEN = {
    "missing": None,
    "traceback": "#!/usr/bin/env python3\nimport no_such_module\n",
    "no interpreter": "#!/no/such/interpreter\n",
    "killed": "#!/bin/sh\nkill -SEGV $$\n",
    "fatal": "#!/bin/sh\nexit 128\n",
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_program_that_cannot_run_is_told_and_stops_nothing(hooked, tmp_path, monkeypatch, text, strict):
    path = tmp_path / "bin" / "git-kb"
    path.unlink()
    if text is not None:
        path.write_text(text)
        path.chmod(0o755)
    assert text is not None or states(hooked)[0] == 1
    hooked.git("config", "kb.hookStrict", "yes" if strict else "no")
    damage(hooked)
    made, err = try_commit(hooked)
    assert made != strict
    assert err.splitlines()[-1].startswith("git-kb: ")
    if text is None:
        assert err == "git-kb: the program 'git-kb' is not on PATH; the commit was not checked\n"
        switched = subprocess.run(["git", "switch", "-q", "-c", "side"], cwd=hooked.top, capture_output=True, text=True)
        assert (switched.returncode, len(switched.stderr.splitlines())) == (0, 1)


def test_hooks_in_gits_configuration_are_told(hooked):
    hooked.git("config", "hook.kb.command", "git kb hooks run pre-commit")
    hooked.git("config", "hook.kb.event", "pre-commit")
    hooked.git("config", "hook.odd name.x.command", "true")
    found = {hook.name: hook for hook in config_hooks(hooked.place())}
    assert found["kb"].events == ("pre-commit",)
    assert found["odd name.x"].command == "true"
    done = hooked.run("hooks", "status")
    assert "hook 'kb' in git's configuration ('git kb hooks run pre-commit', for pre-commit)" in done.err
    counts = runs_config_hooks(hooked.place())
    assert ("runs git-kb a second time" in done.err) == counts
    assert ("older than 2.54" in done.err) == (not counts)
    hooked.ok("hooks", "uninstall", "-q")
    assert states(hooked)[1]["pre-commit"]["runs"] == counts
    hooked.git("config", "hook.kb.enabled", "false")
    assert states(hooked)[1]["pre-commit"]["runs"] is False
