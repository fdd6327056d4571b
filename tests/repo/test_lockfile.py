import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import time

import pytest

import git_kb
from git_kb.repo import lockfile
from git_kb.repo.lockfile import CannotWrite, Locked, LockLost, WriterLock, atomic_write

ROOT = os.path.dirname(os.path.dirname(git_kb.__file__))


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "kb" / "lock")


def start(code, *args):
    """Start a python process that runs `code`."""
    argv = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.Popen(argv, env={**os.environ, "PYTHONPATH": ROOT}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


HOLDER = """if True:
    import sys
    from git_kb.repo.lockfile import WriterLock
    lock = WriterLock(sys.argv[1], "ingest")
    lock.acquire()
    print("held", flush=True)
    sys.stdin.read()
    lock.release()
"""


@pytest.fixture
def holder(path):
    """Another process that holds the lock."""
    with start(HOLDER, path) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def change(path, **fields):
    """Rewrite fields of a lock in place, keeping its times."""
    times = os.stat(path)
    with open(path) as file:
        content = json.load(file) | fields
    with open(path, "w") as file:
        json.dump(content, file)
    os.utime(path, (times.st_atime, times.st_mtime))


def test_the_file_says_who_holds_it(path):
    with WriterLock(path, "index") as lock:
        assert lock.held
        with open(path) as file:
            content = json.load(file)
        assert (content["pid"], content["operation"], content["host"]) == (os.getpid(), "index", socket.gethostname())
        assert abs(content["ts"] - time.time()) < 60
    assert not lock.held
    assert not os.path.exists(path)
    lock.release()


def test_a_second_writer_is_told_who_and_what(path, holder):
    lock = WriterLock(path, "gc", now=lambda: time.time() + 100)
    with pytest.raises(Locked, match=f"process {holder.pid} .'ingest', for 1[0-9][0-9] s") as caught:
        lock.acquire()
    error = caught.value
    assert (error.pid, error.operation, error.host, error.exit_code) == (holder.pid, "ingest", "", 128)
    assert 99 < error.age_s < 150
    assert not lock.held
    lock.release()
    assert os.path.exists(path)


def test_waiting_ends_when_the_holder_lets_go(path, holder):
    pauses = []

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            holder.stdin.close()
            holder.wait()

    with WriterLock(path, "gc", wait_s=30, sleep=sleep):
        pass
    assert pauses == [0.01, 0.02, 0.04]


def test_waiting_has_an_end(path, holder):
    started = time.monotonic()
    with pytest.raises(Locked):
        WriterLock(path, "gc").acquire(wait_s=0.3)
    assert 0.3 <= time.monotonic() - started < 5


def test_a_killed_holder_is_succeeded_with_a_warning(path, holder):
    """Killed and not even waited for: a zombie holds nothing."""
    holder.kill()
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
    warnings = []
    with WriterLock(path, "gc", wait_s=0, warn=warnings.append):
        pass
    assert warnings == [f"took over the lock '{path}' of process {holder.pid} ('ingest'): that process is gone"]


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="only /proc tells when a process started")
def test_a_reused_process_number_is_not_the_holder(path, holder):
    change(path, start="some-other-boot/123")
    WriterLock(path, "gc").acquire()


def test_a_holder_elsewhere_is_judged_by_its_silence_alone(path, holder):
    holder.kill()
    holder.wait()
    for field in ("host", "namespace"):
        change(path, host=socket.gethostname(), namespace=lockfile._pid_namespace())
        change(path, **{field: "elsewhere"})
        with pytest.raises(Locked) as caught:
            WriterLock(path, "gc").acquire()
    change(path, host="elsewhere")
    with pytest.raises(Locked, match="on elsewhere"):
        WriterLock(path, "gc").acquire()
    warnings = []
    WriterLock(path, "gc", warn=warnings.append, now=lambda: time.time() + 301).acquire()
    assert "no sign of life for 30" in warnings[0]
    assert caught.value.pid == holder.pid


def test_a_silent_holder_loses_and_notices(path):
    clock = [1_000_000.0]
    slow = WriterLock(path, "ingest", now=lambda: clock[0])
    slow.acquire()
    for _ in range(3):
        clock[0] += 250
        slow.refresh()
    other = WriterLock(path, "gc", now=lambda: clock[0])
    clock[0] += 299
    with pytest.raises(Locked):
        other.acquire()
    clock[0] += 2
    other.acquire()
    with pytest.raises(LockLost):
        slow.refresh()
    assert not slow.held
    slow.release()
    assert other.held
    other.refresh()
    other.release()
    assert not os.path.exists(path)


def test_release_removes_only_our_own(path):
    lock = WriterLock(path, "ingest")
    lock.acquire()
    os.unlink(path)
    other = WriterLock(path, "gc")
    other.acquire()
    lock.release()
    assert os.path.exists(path)
    other.release()


def test_a_forked_child_does_not_release(path):
    with WriterLock(path, "ingest") as lock:
        pid = os.fork()
        if pid == 0:
            lock.release()
            os._exit(0)
        os.waitpid(pid, 0)
        assert os.path.exists(path)


def test_the_directory_may_be_deleted_at_any_time(path):
    lock = WriterLock(path, "ingest")
    lock.acquire()
    shutil.rmtree(os.path.dirname(path))
    with pytest.raises(LockLost):
        lock.refresh()
    lock.acquire()
    shutil.rmtree(os.path.dirname(path))
    lock.release()
    assert not lock.held


@pytest.mark.parametrize("content", [b"garbage", b"{}", b"[]", b'{"pid": "x"}', b"\xff", b'{"pid": 1e99}'])
def test_a_lock_that_makes_no_sense_is_respected_until_it_is_old(path, content):
    os.mkdir(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(content)
    with pytest.raises(Locked) as caught:
        WriterLock(path, "gc").acquire()
    assert (caught.value.pid, caught.value.operation) == (0, "")
    WriterLock(path, "gc", now=lambda: time.time() + 301).acquire()


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of that kind there")
@pytest.mark.parametrize("limit", [0, 1, 100])
def test_a_full_disk_leaves_no_lock(path, limit):
    program = f"""if True:
        import resource
        from git_kb.repo.lockfile import CannotWrite, WriterLock
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
        try:
            WriterLock({path!r}, "test").acquire()
        except CannotWrite as e:
            print(e)
    """
    environ = {**os.environ, "PYTHONPATH": ROOT}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"cannot write '{path}': ")
    assert not os.path.exists(path)


def test_an_empty_lock_is_what_a_crash_left(path):
    os.mkdir(os.path.dirname(path))
    with open(path, "wb"):
        pass
    WriterLock(path, "gc").acquire()


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "kb").write_text("a file")
    with pytest.raises(CannotWrite):
        WriterLock(str(tmp_path / "kb" / "lock"), "gc").acquire()


CONTENDER = """if True:
    import os, random, signal, sys, time
    from git_kb.repo.lockfile import WriterLock
    path, seed, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    for _ in range(n):
        with WriterLock(path, "race", wait_s=60, sleep=lambda s: time.sleep(s * rng.random() / 5)):
            # Appending to a file that must be empty tells of a second holder.
            fd = os.open(path + ".witness", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            time.sleep(rng.random() / 500)
            if seed == 0 and rng.random() < 0.5:
                os.unlink(path + ".witness")
                os.kill(os.getpid(), signal.SIGKILL)
            os.unlink(path + ".witness")
            os.close(fd)
"""


def test_never_two_holders(path):
    """Eight contenders; others are killed again and again while they hold the lock, so that many race to take it over."""
    steady = [start(CONTENDER, path, seed, 15) for seed in range(1, 6)]
    for _ in range(8):
        victims = [start(CONTENDER, path, 0, 15) for _ in range(2)]
        assert {victim.wait(60) for victim in victims} <= {0, -9}
        for victim in victims:
            victim.communicate()
    for process in steady:
        assert process.wait(60) == 0
        process.communicate()
    WriterLock(path, "after").acquire()


def test_atomic_write_replaces_whole_and_keeps_the_mode(tmp_path):
    path = str(tmp_path / "file")
    old_mask = os.umask(0o027)
    try:
        atomic_write(path, b"one")
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o640
        os.chmod(path, 0o755)
        atomic_write(path, b"two", fsync=False)
    finally:
        os.umask(old_mask)
    with open(path, "rb") as file:
        assert file.read() == b"two"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o755
    assert os.listdir(tmp_path) == ["file"]


def test_atomic_write_replaces_a_link_and_not_what_it_names(tmp_path):
    (tmp_path / "target").write_bytes(b"precious")
    os.symlink("target", tmp_path / "link")
    atomic_write(str(tmp_path / "link"), b"new")
    assert (tmp_path / "target").read_bytes() == b"precious"
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("function", ["write", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, function):
    path = str(tmp_path / "file")
    atomic_write(path, b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    if function == "write":
        monkeypatch.setattr(lockfile, "_write_whole", fail)
    else:
        monkeypatch.setattr(os, function, fail)
    with pytest.raises(CannotWrite, match=f"cannot write '{path}': No space left on device"):
        atomic_write(path, b"new")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_relative_path_and_a_missing_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    atomic_write("file", b"x")
    assert (tmp_path / "file").read_bytes() == b"x"
    with pytest.raises(CannotWrite, match="No such file"):
        atomic_write("none/file", b"x")


def test_leftovers_of_some_files(tmp_path):
    """Beside files of the user's, only what is ours goes."""
    long = "x" * 150
    ours = [".a.md.0123456789ab.tmp", f".{long[:100]}.0123456789ab.tmp"]
    others = [".b.md.0123456789ab.tmp", ".a.md.tmp", "a.md", ".a.md.0123456789AB.tmp", ".xa.md.0123456789ab.tmp"]
    for name in (*ours, *others):
        (tmp_path / name).write_bytes(b"")
    lockfile.remove_leftovers(str(tmp_path), {"a.md", long})
    assert sorted(os.listdir(tmp_path)) == sorted(others)
