import os
import signal
import subprocess
import sys

import pytest

import git_kb
from git_kb.repo.spawn import GitMissing, run_git

from .gitrepo import init

ROOT = os.path.dirname(os.path.dirname(git_kb.__file__))
BIG = bytes(range(256)) * 20_000
HEAVY = ["argparse", "dataclasses", "enum", "json", "pathlib", "re", "subprocess", "tempfile", "typing"]


@pytest.fixture(params=["posix_spawn", "subprocess"] if hasattr(os, "posix_spawn") else ["subprocess"])
def way(request, monkeypatch):
    """Both ways of starting git."""
    if request.param == "subprocess":
        monkeypatch.delattr(os, "posix_spawn", raising=False)
    return request.param


def shell(command):
    return ["-c", f"alias.do=!{command}", "do"]


def test_status_and_both_streams_come_back(way, tmp_path):
    init(tmp_path)
    assert run_git(["hash-object", "--stdin"], str(tmp_path), b"hello\n") == (0, b"ce013625030ba8dba906f756967f9e9ca394464a\n", b"")
    status, out, err = run_git(["rev-parse", "--verify", "nothing"], str(tmp_path))
    assert (status, out) == (128, b"")
    assert err.startswith(b"fatal: ")


def test_large_input_and_output_at_once_do_not_block(way, tmp_path):
    """The child writes while it reads: more than both pipes hold."""
    assert run_git(shell("cat"), str(tmp_path), BIG) == (0, BIG, b"")


def test_large_error_output_does_not_block(way, tmp_path):
    assert run_git(shell("cat >&2"), str(tmp_path), BIG) == (0, b"", BIG)


def test_a_child_that_reads_nothing_is_no_error(way, tmp_path):
    status, out, _ = run_git(["version"], str(tmp_path), BIG)
    assert status == 0
    assert out.startswith(b"git version")


def test_environment_is_replaced(way, tmp_path):
    env = {"PATH": os.environ["PATH"], "ONLY": "this"}
    assert b"ONLY=this" in run_git(shell("env"), str(tmp_path), env=env)[1].split()
    assert b"HOME" not in run_git(shell("env"), str(tmp_path), env=env)[1]


def test_git_missing_is_an_error_with_a_hint(way, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitMissing, match="cannot start 'git'") as caught:
        run_git(["version"])
    assert "PATH" in caught.value.hint


def test_nul_in_an_argument_is_a_value_error(way):
    with pytest.raises(ValueError, match="null"):
        run_git(["rev-parse", "a\0b"])


def test_signals_meanwhile_are_survived(tmp_path):
    """EINTR: a handler runs several times while git is working."""
    calls = []
    previous = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        assert run_git(shell("sleep 0.2; cat"), str(tmp_path), BIG) == (0, BIG, b"")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert calls


INTERRUPTED = """if True:
    import os, signal, sys, time
    from git_kb.repo.spawn import run_git
    def interrupt(*_):
        raise KeyboardInterrupt
    n_fds = len(os.listdir("/dev/fd"))
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    started = time.monotonic()
    try:
        run_git(["-C", sys.argv[1], "-c", "alias.do=!sleep 30", "do"], stdin=b"x" * 200_000)
    except KeyboardInterrupt:
        assert time.monotonic() - started < 10
        assert len(os.listdir("/dev/fd")) == n_fds
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print("clean")
"""


def test_an_interrupt_ends_the_child_and_leaves_nothing(tmp_path):
    env = {**os.environ, "PYTHONPATH": ROOT}
    argv = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    assert subprocess.run(argv, env=env, stdout=subprocess.PIPE, check=True).stdout == b"clean\n"


def test_no_descriptor_leaks(tmp_path):
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        run_git(["version"], str(tmp_path), b"x")
    assert len(os.listdir("/dev/fd")) == before


def test_works_with_closed_standard_streams(tmp_path):
    """A daemon may have closed 0, 1 and 2; the pipes then get these numbers."""
    code = """if True:
        import os, sys
        for fd in (0, 1, 2):
            os.close(fd)
        from git_kb.repo.spawn import run_git
        status, out, err = run_git(["hash-object", "--stdin"], stdin=b"hello\\n")
        with open(sys.argv[1], "w") as file:
            file.write(f"{status} {out} {err}")
    """
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "answer")], env={**os.environ, "PYTHONPATH": ROOT}, check=True)
    assert (tmp_path / "answer").read_text() == "0 b'ce013625030ba8dba906f756967f9e9ca394464a\\n' b''"


def test_the_cold_path_imports_nothing_heavy(tmp_path):
    code = (
        f"import sys; sys.path.insert(0, {ROOT!r}); import git_kb.repo.discover as d; d.discover(sys.argv[1]); print(*sys.modules)"
    )
    init(tmp_path)
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(tmp_path)], capture_output=True, check=True, text=True)
    assert not set(HEAVY) & set(done.stdout.split())
