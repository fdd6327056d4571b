"""Jobs for CI servers, and the file for the pre-commit framework: they parse, and what they run works."""

import os
import shlex
import subprocess

import pytest
import yaml
from kb import ROOT, Kb, assert_message, git

from git_kb.cli.main import command_module, command_parser
from git_kb.store.ci import INSTALL, JOBS, STEPS


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def commands(server):
    """Return the commands of a job, as the server takes them from the file."""
    job = yaml.safe_load(JOBS[server][1])
    if server == "gitlab":
        return [*job["git-kb"]["before_script"], *job["git-kb"]["script"]]
    return [step["run"] for step in job["jobs"]["git-kb"]["steps"] if "run" in step]


@pytest.mark.parametrize("server", JOBS)
def test_jobs_parse_and_run_the_same(server):
    assert commands(server) == [INSTALL, *STEPS]


@pytest.mark.parametrize("server", JOBS)
def test_the_document_shows_the_jobs(server):
    path, text = JOBS[server]
    page = read("docs", "ci.md")
    assert "".join(f"    {line}\n" if line else "\n" for line in text.splitlines()) in page
    assert path in page


@pytest.mark.parametrize("pushed", [False, True], ids=["no pool", "pool pushed"])
@pytest.mark.parametrize("fault", ["", "stale", "gone", "damaged"])
def test_the_steps_find_what_is_wrong(kb, tmp_path, pushed, fault):
    if fault == "stale":
        kb.write("docs/guide.md", "# Guide\n")
    elif fault == "gone":
        os.unlink(kb.path("docs/guide.md"))
    elif fault == "damaged":
        kb.write("kb/documents/docs--guide.md.toml", "format = 1\n")
    kb.commit()
    if not pushed:
        kb.git("update-ref", "-d", "refs/kb/sections")
    clone = Kb(tmp_path / "clone")
    git("clone", "-q", kb.top, clone.top, cwd=tmp_path)
    # A shell of a CI server stops at the first command that fails.
    done = subprocess.run(["sh", "-ec", "\n".join(STEPS)], cwd=clone.top, capture_output=True, text=True)
    assert done.returncode == (1 if fault else 0), done
    assert bool(clone.git("rev-parse", "-q", "--verify", "refs/kb/sections", check=False))


@pytest.mark.parametrize("server", JOBS)
def test_init_writes_a_job_once(tmp_path, server):
    kb = Kb.create(tmp_path / "r")
    path, text = JOBS[server]
    assert path in kb.run("init", "--ci", server).err
    assert kb.read(path) == text.encode()
    assert kb.run("init", "--ci", server).code == 0
    kb.ok("init")
    kb.write(path, "mine\n")
    done = kb.run("init", "--ci", server)
    assert (done.code, done.out) == (1, text)
    assert f"error: '{path}' is there already" in done.err
    assert kb.read(path) == b"mine\n"


def test_init_writes_no_job_unasked_or_for_an_unknown_server(tmp_path):
    kb = Kb.create(tmp_path / "r")
    kb.ok("init")
    assert not any(os.path.lexists(kb.path(path)) for path, _ in JOBS.values())
    assert_message(kb.run("init", "--ci", "jenkins"), 129, "jenkins")


@pytest.mark.parametrize("link", [".github", ".github/workflows", ".gitlab-ci.yml"])
def test_a_link_does_not_lead_the_job_out(tmp_path, link):
    kb = Kb.create(tmp_path / "r")
    outside = tmp_path / "outside"
    outside.mkdir()
    os.makedirs(os.path.dirname(kb.path(link)), exist_ok=True)
    os.symlink(outside, kb.path(link))
    done = kb.run("init", "--ci", "gitlab" if "gitlab" in link else "github")
    assert done.code in (1, 128)
    assert os.listdir(outside) == []


def test_status_has_an_exit_code(kb):
    assert kb.run("status", "--exit-code").code == 0
    assert kb.run("status", "--exit-code", "--json", "--at", "HEAD").code == 0
    kb.write("docs/guide.md", "# Guide\n")
    assert kb.run("status").code == 0
    assert kb.run("status", "--exit-code").code == kb.run("status", "--exit-code", "--json").code == 1
    assert kb.run("status", "--exit-code", "--at", "HEAD").code == 0
    kb.ok("ingest", "-q")
    assert kb.run("status", "--exit-code").code == 0
    kb.write("kb/documents/docs--guide.md.toml", "format = 1\n")
    assert kb.run("status", "--exit-code").code == 1


def test_the_file_for_the_pre_commit_framework():
    hooks = yaml.safe_load(read(".pre-commit-hooks.yaml"))
    assert {hook["id"] for hook in hooks} == {"kb-check", "kb-fsck"}
    for hook in hooks:
        assert hook["language"] == "python"
        # One process: it looks at all that is staged, and needs no names.
        assert (hook["pass_filenames"], hook["require_serial"]) == (False, True)
        assert all(hook[key] for key in ("name", "description"))
        assert "pre-commit" in hook["stages"]
        program, verb, *args = shlex.split(hook["entry"])
        assert program == "git-kb"
        module = command_module(verb)
        parser = command_parser(verb, module)
        parser.parse_args(module.prepare(args) if hasattr(module, "prepare") else args)
        assert hook["id"] in read("docs", "hooks.md")
