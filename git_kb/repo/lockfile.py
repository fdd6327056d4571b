"""The writer's lock, and files replaced whole."""

from __future__ import annotations

import json
import os
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from git_kb.errors import KbError
from git_kb.repo.regular import kind, read_regular, set_aside

# A holder that works on refreshes its lock far more often than this.
STALE_S = 300.0
GUARD = ".guard"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.5


class Locked(KbError):
    """Another process is writing. `pid` is 0 when the lock does not tell; `age_s` counts from when it was taken."""

    hint = "wait for it to end; if it is gone, the lock is taken over after five minutes without a sign of life"

    def __init__(self, path: str, pid: int, operation: str, age_s: float, host: str = ""):
        self.path, self.pid, self.operation, self.age_s, self.host = path, pid, operation, age_s, host
        who = (f"process {pid}" if pid else "another process") + (f" on {host}" if host else "")
        super().__init__(f"'{path}' is held by {who} ('{operation or 'unknown'}', for {age_s:.0f} s)")


class LockLost(KbError):
    """Our lock was taken over, because it had not been refreshed for too long. What was going on must not be published."""

    hint = "run the command again"

    def __init__(self, path: str):
        self.path = path
        super().__init__(f"the lock '{path}' was taken over by another process")


class CannotWrite(KbError):
    """A file could not be written. What was there before is untouched."""

    def __init__(self, path: str, error: OSError):
        self.path = path
        if os.path.isdir(path):
            self.hint = "a directory is in its place; move it away"
        super().__init__(f"cannot write '{path}': {error.strerror or error}")


class WriterLock:
    """One writer at a time, by a file that names its holder. As a context manager it waits up to `wait_s`.

    The file appears by O_CREAT|O_EXCL and holds JSON: pid, host, pid namespace, start (of the process), operation, ts, token.
    It is taken over when its holder is dead, or gave no sign of life (`refresh`) for `stale_s`; `warn` is told. Every creation
    and removal happens under `<path>.guard`, a file lock that the kernel frees when its holder dies: so between judging a lock
    and removing it, it cannot change.
    """

    def __init__(
        self,
        path: str,
        operation: str,
        *,
        wait_s: float = 10.0,
        warn: Callable[[str], None] | None = None,
        stale_s: float = STALE_S,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self.path, self.operation, self.wait_s, self.stale_s = path, operation, wait_s, stale_s
        self._warn, self._now, self._sleep = warn, now, sleep
        self._token = ""
        self._pid = 0

    def __enter__(self) -> Self:
        self.acquire(self.wait_s)
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    @property
    def held(self) -> bool:
        """Whether we took the lock and have not released it."""
        return bool(self._token)

    def acquire(self, wait_s: float = 0.0) -> None:
        """Take the lock, waiting up to `wait_s` seconds. What is no lock file is moved aside.

        Raises Locked, CannotWrite, InTheWay.
        """
        _make_parent(self.path)
        self._clear(self.path + GUARD)
        deadline = time.monotonic() + wait_s
        pause = FIRST_PAUSE_S
        while not self._try():
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._locked()
            self._sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def refresh(self) -> None:
        """Give a sign of life. Raises LockLost when another process has taken over, or the lock was deleted."""
        try:
            with _guard(self.path) as guarded:
                if self._is_ours():
                    if guarded:
                        moment = self._now()
                        os.utime(self.path, (moment, moment))
                    return
        except FileNotFoundError:
            # The whole directory is gone: it may be deleted at any time.
            pass
        self._token = ""
        raise LockLost(self.path)

    def release(self) -> None:
        """Remove the lock if it is still ours. Does nothing in a forked child: the lock is its parent's."""
        if not self._token or self._pid != os.getpid():
            return
        try:
            with _guard(self.path, wait=True):
                if self._is_ours():
                    os.unlink(self.path)
        except FileNotFoundError:
            pass
        self._token = ""

    def _try(self) -> bool:
        try:
            with _guard(self.path) as guarded:
                if not guarded:
                    return False
                self._remove_stale()
                return self._create()
        except OSError as e:
            raise CannotWrite(self.path, e) from None

    def _create(self) -> bool:
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        except FileExistsError:
            return False
        token = secrets.token_hex(8)
        try:
            left = json.dumps(self._description(token)).encode() + b"\n"
            # On a full disk a write takes a part first, and only the next one fails.
            while left:
                left = left[os.write(fd, left) :]
            moment = self._now()
            os.utime(self.path, (moment, moment))
        except BaseException:
            os.unlink(self.path)
            raise
        finally:
            os.close(fd)
        self._token, self._pid = token, os.getpid()
        return True

    def _description(self, token: str) -> dict[str, Any]:
        pid = os.getpid()
        return {
            "pid": pid,
            "host": _host(),
            "namespace": _pid_namespace(),
            "start": _start_time(pid),
            "operation": self.operation,
            "ts": int(self._now()),
            "token": token,
        }

    def _remove_stale(self) -> None:
        """Remove a lock whose holder is gone. Only under the guard."""
        self._clear(self.path)
        try:
            status = os.lstat(self.path)
        except FileNotFoundError:
            return
        holder = _read_holder(self.path)
        why = self._why_stale(holder, status.st_size, self._now() - status.st_mtime)
        if why is None:
            return
        os.unlink(self.path)
        if self._warn:
            who = f"process {holder.get('pid', 0)} ('{holder.get('operation', 'unknown')}')"
            self._warn(f"took over the lock '{self.path}' of {who}: {why}")

    def _clear(self, path: str) -> None:
        """Move aside what stands in the place of a lock file and is none."""
        if what := _no_lock_file(path):
            set_aside(path, what, self._warn or (lambda message: None))

    def _why_stale(self, holder: dict[str, Any], size: int, silent_s: float) -> str | None:
        if size == 0:
            # Creation and writing are one step under the guard, so whoever left it empty died there.
            return "it is empty"
        # A time as far in the future is no sign of life either; a clock was set back, or somebody made it up.
        if abs(silent_s) > self.stale_s:
            return f"no sign of life for {silent_s:.0f} s"
        if (
            holder
            and (holder["host"], holder["namespace"]) == (_host(), _pid_namespace())
            and not _is_alive(holder["pid"], holder["start"])
        ):
            return "that process is gone"
        return None

    def _is_ours(self) -> bool:
        return bool(self._token) and _read_holder(self.path).get("token") == self._token

    def _locked(self) -> Locked:
        holder = _read_holder(self.path)
        host = holder.get("host", "")
        age_s = max(0.0, self._now() - holder["ts"]) if holder else 0.0
        return Locked(self.path, holder.get("pid", 0), holder.get("operation", ""), age_s, "" if host == _host() else host)


def atomic_write(path: str, data: bytes | bytearray, fsync: bool = True) -> None:
    """Replace the file at `path` by one with `data`, or leave it as it was. Raises CannotWrite.

    Written beside it, synced, renamed, directory synced. A regular file keeps its mode; a symbolic link is replaced, not followed.
    """
    directory = os.path.dirname(path) or "."
    temporary = os.path.join(directory, f".{os.path.basename(path)[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            _write_whole(fd, data, path, fsync)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
        if fsync:
            sync_directory(directory)
    except OSError as e:
        raise CannotWrite(path, e) from None


def remove_leftovers(directory: str, of: set[str] | None = None) -> None:
    """Remove what `atomic_write` left beside its files when it was killed. Only where nobody else writes just now.

    of: names of files; what belongs to others stays.
    """
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return
    stems = None if of is None else {name[:100] for name in of}
    for name in names:
        if is_leftover(name) and (stems is None or name[1:-17] in stems):
            os.unlink(os.path.join(directory, name))


def is_leftover(name: str) -> bool:
    """Return whether a name is one that `atomic_write` gives to a file in the making."""
    if not (name.startswith(".") and name.endswith(".tmp")):
        return False
    stem, _, token = name.removesuffix(".tmp").rpartition(".")
    return bool(stem) and len(token) == 12 and all(c in "0123456789abcdef" for c in token)


@contextmanager
def file_lock(path: str) -> Iterator[bool]:
    """Hold a file as a lock that the kernel frees when we die; False when another process has it. Never waits. Raises OSError."""
    fd = _open_guard(path)
    try:
        yield _lock_file(fd, wait=False)
    finally:
        os.close(fd)


def sync_directory(path: str) -> None:
    """Make the names in a directory durable, where the system can (not on Windows)."""
    if os.name == "nt":
        return
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _make_parent(path: str) -> None:
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    except OSError as e:
        raise CannotWrite(path, e) from None


def _write_whole(fd: int, data: bytes | bytearray, path: str, fsync: bool) -> None:
    with open(fd, "wb") as file:
        file.write(data)
        file.flush()
        mode = _file_mode(path)
        if mode is not None and os.name != "nt":
            os.fchmod(file.fileno(), mode)
        if fsync:
            os.fsync(file.fileno())


def _file_mode(path: str) -> int | None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    return stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else None


@contextmanager
def _guard(path: str, wait: bool = False) -> Iterator[bool]:
    """Hold the guard file of a lock; False when another process has it just now and we shall not wait."""
    fd = _open_guard(path + GUARD)
    try:
        yield _lock_file(fd, wait)
    finally:
        os.close(fd)


def _open_guard(path: str) -> int:
    flags = os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
    try:
        return os.open(path, os.O_RDWR | flags, 0o666)
    except PermissionError:
        # Another user's, or made read-only. It can be locked all the same.
        return os.open(path, os.O_RDONLY | flags, 0o666)


if sys.platform == "win32":

    def _lock_file(fd: int, wait: bool) -> bool:
        import msvcrt

        try:
            msvcrt.locking(fd, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _lock_file(fd: int, wait: bool) -> bool:
        import fcntl

        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True


def _no_lock_file(path: str) -> str:
    """Return what stands at `path` when it cannot be a lock file; "" when it can, or nothing is there."""
    try:
        status = os.lstat(path)
    except OSError:
        return ""
    if not stat.S_ISREG(status.st_mode):
        return f"not a file but {kind(status.st_mode)}"
    # One that another user made is theirs to hold.
    ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return "a file that its owner cannot read" if ours and not os.access(path, os.R_OK) else ""


def _read_holder(path: str) -> dict[str, Any]:
    """Return the lock's content; empty when there is none that makes sense."""
    try:
        holder = json.loads(read_regular(path)[:4096])
    except (OSError, ValueError, RecursionError):
        return {}
    wanted = {"pid": int, "host": str, "namespace": str, "start": str, "operation": str, "ts": int, "token": str}
    if not isinstance(holder, dict) or not all(type(holder.get(key)) is kind for key, kind in wanted.items()):
        return {}
    if not (0 < holder["pid"] < 1 << 31 and abs(holder["ts"]) < 1 << 40):
        return {}
    return holder


def _is_alive(pid: int, start: str) -> bool:
    """Return whether the process that took the lock still runs. `start` tells it from a later one with the same number."""
    if os.name == "nt":
        # os.kill would end it there. The lock's age decides.
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    current = _start_time(pid)
    return not start or not current or current == start


def _start_time(pid: int) -> str:
    """Return when a process started: boot id and clock ticks since boot. "" where /proc does not tell, "zombie" for a dead one."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name in parentheses may hold anything; state is the first field after it, start time the twentieth.
            fields = file.read().rpartition(b")")[2].split()
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
    except OSError:
        return ""
    return "zombie" if fields[0] in (b"Z", b"X") else f"{boot}/{fields[19].decode()}"


def _host() -> str:
    if hasattr(os, "uname"):
        return os.uname().nodename
    import socket

    return socket.gethostname()


def _pid_namespace() -> str:
    """Return the name of our process number space: containers may share a host name and a disk, but not process numbers."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except (OSError, AttributeError):
        return ""
