"""Standard output and standard error that take nothing: exit codes as git has them, for every verb."""

import os
import shutil
import subprocess

import pytest
from kb import Kb, command, process, process_environ

from git_kb.cli.main import COMMANDS

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")

# Verb -> arguments with which it says something on standard output, as far as it ever does.
ARGUMENTS = {
    "init": [],
    "ingest": ["--json", "-f"],
    "search": ["syrup"],
    "query": ["syrup"],
    "show": ["notes.txt"],
    "recall": ["docs/guide.md"],
    "status": [],
    "log": [],
    "diff": ["HEAD"],
    "blame": ["docs/guide.md"],
    "hooks": ["status"],
    "export": ["no/such/directory/out"],
    "import": ["-n", "nothing"],
    "index": ["--rebuild"],
    "fsck": [],
    "sync": ["--json", "-n", "."],
    "gc": ["-n"],
    "hash-section": ["-w", "docs/guide.md"],
    "cat-section": ["-p", "KBID"],
    "add-section": ["-n"],
    "update-section": ["-n", "KBID"],
    "rm-section": ["-n", "KBID"],
    "mk-document": ["-n", "copy", "KBID"],
    "rm-document": ["-n", "docs/guide.md"],
    "ls-sections": [],
    "ls-documents": [],
    "ls-segments": [],
    "dump-segment": ["seg-"],
    "chunk": ["notes.txt"],
    "tokens": ["notes.txt"],
    "textconv": ["kb/documents/notes.txt.toml"],
    "merge-driver": ["manifest", "a", "b", "c"],
}
OTHERS = [
    ["-h"],
    ["--version"],
    ["help", "search"],
    ["search", "-h"],
    ["search", "nowhere-to-be-found"],
    ["show", "nothing"],
    ["bogus"],
]
LINES = [[verb, *arguments] for verb, arguments in ARGUMENTS.items()] + OTHERS
FULL = b"fatal: write failure on standard output: no space left on device\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return Kb.ready(tmp_path_factory.mktemp("model") / "repo")


@pytest.fixture
def kb(model, tmp_path):
    shutil.copytree(model.top, tmp_path / "repo")
    return Kb(tmp_path / "repo")


def started(kb, args, out, err, **environ):
    with open(out, "wb") as out_file, open(err, "wb") as err_file:
        return subprocess.run(
            command(*args),
            cwd=kb.top,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if out == os.devnull else out_file,
            stderr=subprocess.PIPE if err == os.devnull else err_file,
            env=process_environ(**environ),
        )


def test_no_verb_is_left_out():
    assert set(ARGUMENTS) == set(COMMANDS)


@pytest.mark.parametrize(
    ("args", "unbuffered"), [*((line, "") for line in LINES), (["status"], "1"), (["cat-section", "-p", "KBID"], "1")]
)
def test_full_streams(kb, args, unbuffered):
    args = [kb.ok("ls-sections", "--format", "{kbid}").split()[0] if a == "KBID" else a for a in args]
    environ = {"PYTHONUNBUFFERED": unbuffered}
    wanted = started(kb, args, os.devnull, os.devnull, **environ)
    full = started(kb, args, "/dev/full", os.devnull, **environ)
    if wanted.stdout:
        assert full.returncode == 128
        assert full.stderr.endswith(FULL)
    else:
        assert (full.returncode, full.stderr) == (wanted.returncode, wanted.stderr)
    silent = started(kb, args, os.devnull, "/dev/full", **environ)
    assert (silent.returncode, silent.stdout) == (wanted.returncode, wanted.stdout)
    both = started(kb, args, "/dev/full", "/dev/full", **environ)
    assert both.returncode == full.returncode


def test_the_work_is_done_though_nobody_hears_of_it(kb):
    kb.write("new.md", "# New\n\nThe hornet.\n")
    assert started(kb, ["ingest", "-v"], os.devnull, "/dev/full").returncode == 0
    assert kb.hits("hornet")
    kb.write("more.md", "# More\n\nThe wasp.\n")
    assert started(kb, ["ingest", "--json"], "/dev/full", os.devnull).returncode == 128
    assert kb.hits("wasp")


def test_much_output_before_an_error(kb):
    """The exit code is that of the error, not the interpreter's for a flush that fails."""
    done = started(kb, ["chunk", "docs/guide.md", "nope.md"], "/dev/full", os.devnull)
    assert done.returncode == 128
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_closed_stream_is_an_empty_one(kb, stream):
    for args in (["status"], ["search", "syrup"], ["ingest", "-f"]):
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {stream}>&-', "sh", *command(*args)], cwd=kb.top, capture_output=True, env=process_environ()
        )
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr


def test_a_directory_that_is_gone(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    line = ["sh", "-c", 'rmdir "$0" && exec "$@"', str(gone), *command("status")]
    done = subprocess.run(line, cwd=gone, capture_output=True, env=process_environ())
    assert done.returncode == 128
    assert done.stderr.lower().startswith(b"fatal: unable to read current working directory")


def test_bytes_and_text_come_in_order(kb):
    kbid = kb.ok("ls-sections", "--format", "{kbid}").split()[0]
    done = process(kb.top, "cat-section", "--batch", stdin=f"{kbid}\nnope\n".encode())
    assert done.code == 0
    assert done.out.startswith(f"{kbid} text/markdown ")
    assert done.out.endswith("\nnope missing\n")
