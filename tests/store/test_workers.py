"""Calls in other processes: order, reading ahead, signs of life, and workers that die."""

import os
import subprocess
import sys
import time

import pytest

from git_kb.store import workers
from git_kb.store.workers import WorkerDied, in_workers


def later(seconds, value):
    time.sleep(seconds)
    return value


def die():
    os._exit(3)


def refuse():
    raise ValueError("no")


def test_results_come_in_order_with_their_keys():
    calls = ((n, (0.05 * (n % 2), n * n)) for n in range(8))
    assert list(in_workers(later, calls, 2)) == [(n, n * n) for n in range(8)]


def test_no_call_is_no_result():
    assert list(in_workers(later, [], 2)) == []


def test_calls_are_not_read_far_ahead():
    read = []

    def calls():
        for n in range(20):
            read.append(n)
            yield n, (0.0, n)

    results = in_workers(later, calls(), 1)
    next(results)
    assert len(read) == 3
    results.close()
    assert len(read) == 3


def test_signs_of_life_while_a_call_lasts(monkeypatch):
    monkeypatch.setattr(workers, "BEAT_S", 0.05)
    beats = []
    assert list(in_workers(later, [("k", (0.5, "v"))], 1, lambda: beats.append(1))) == [("k", "v")]
    assert len(beats) > 2


def test_a_worker_that_dies():
    with pytest.raises(WorkerDied) as caught:
        list(in_workers(die, [(n, ()) for n in range(5)], 1))
    assert "--jobs 1" in caught.value.hint


def test_what_a_call_raises_comes_out():
    with pytest.raises(ValueError, match="no"):
        list(in_workers(refuse, [(0, ())], 1))


def note_process(path):
    """Say who is at work for whom."""
    with open(path, "a") as file:
        file.write(f"{os.getpid()} {os.getppid()}\n")


KILLED = """
import sys, time
from git_kb.store.workers import in_workers
from test_workers import note_process
def calls():
    yield 1, (sys.argv[1],)
    yield 2, (sys.argv[1],)
    yield 3, (sys.argv[1],)
    time.sleep(600)
for _ in in_workers(note_process, calls(), 1):
    pass
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_workers_end_with_a_killed_process(tmp_path):
    """One that waits for work knows of nothing that would wake it."""
    said = tmp_path / "said"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(said)], env=environ)
    try:
        assert until(lambda: said.exists() and said.read_text().count("\n") == 3)
        pids = {int(pid) for pid in said.read_text().split()} - {process.pid}
        assert len(pids) == 2  # the worker, and the server that forked it
        assert all(map(is_running, pids))
    finally:
        process.kill()
        process.wait()
    assert until(lambda: not any(map(is_running, pids)))


def until(true, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def is_running(pid):
    """Whether there is such a process, and it is more than an entry that nobody has fetched yet."""
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        # It has just gone, or the system has no such file.
        return not os.path.exists("/proc/self/stat")
