"""Starting git cheaply: posix_spawn and pipes.

`git kb search` starts here, so this module imports nothing but what the interpreter has loaded anyway; `subprocess` alone
costs 14 ms. With `process.py` the only place that starts a program.
"""

from __future__ import annotations

import os

from git_kb.errors import KbError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

READ_SIZE = 1 << 16
# The interpreter ignores SIGPIPE and a child would inherit that. The numbers are the same on every system with posix_spawn, and
# the `signal` module costs an import of `enum`.
SIGPIPE, SIGTERM = 13, 15


class GitMissing(KbError):
    """The git program cannot be started."""

    hint = "install git and make sure that it is on PATH"

    def __init__(self, why: str):
        self.why = why
        super().__init__(f"cannot start 'git': {why}")


def run_git(
    args: list[str], cwd: str | None = None, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> tuple[int, bytes, bytes]:
    """Run git to its end and return (exit status, stdout, stderr); a negative status is the signal that ended it.

    `cwd` goes through `git -C`. `env` replaces the whole environment; None passes our own on. Raises GitMissing, and
    ValueError for an argument that holds a NUL.
    """
    argv = ["git", *(["-C", cwd] if cwd is not None else []), *args]
    environment = os.environ if env is None else env
    if not hasattr(os, "posix_spawn"):
        return _run_with_subprocess(argv, stdin, environment)
    return _run_spawned(argv, stdin, environment)


def detach() -> bool:
    """Return True in a process of its own, False in the caller; False alone where the system cannot do it.

    The new one has its own session, nothing but /dev/null for standard streams, no other open file, and "/" for a directory. It is
    nobody's child, so it leaves no zombie to a caller that lives on. It has to end by `os._exit`.
    """
    if not hasattr(os, "fork"):
        return False
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return False
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.chdir("/")
        # What is open here may be a pipe that somebody reads to its end.
        os.closerange(0, _open_limit())
        os.open(os.devnull, os.O_RDWR)
        os.dup2(0, 1)
        os.dup2(0, 2)
    except BaseException:
        os._exit(1)
    return True


def _open_limit() -> int:
    """Return a number above that of each open file."""
    try:
        return max(map(int, os.listdir("/dev/fd"))) + 1
    except (OSError, ValueError):
        return 4096


def _run_spawned(argv: list[str], stdin: bytes, env: Mapping[str, str]) -> tuple[int, bytes, bytes]:
    fds: list[int] = []
    try:
        out_read, out_write = _pipe(fds)
        err_read, err_write = _pipe(fds)
        in_read, in_write = _pipe(fds) if stdin else (_keep(fds, os.open(os.devnull, os.O_RDONLY)), -1)
        pid = _spawn(argv, env, in_read, out_write, err_write)
        try:
            for fd in (in_read, out_write, err_write):
                _close(fds, fd)
            out, err = _exchange(fds, in_write, stdin, out_read, err_read)
        except BaseException:
            # Git removes its lock files when it is asked to end, and cannot when it is killed.
            os.kill(pid, SIGTERM)
            raise
        finally:
            # Without readers the child gets SIGPIPE or EOF, so the wait ends.
            for fd in list(fds):
                _close(fds, fd)
            _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), out, err
    finally:
        for fd in list(fds):
            _close(fds, fd)


def _spawn(argv: list[str], env: Mapping[str, str], stdin: int, stdout: int, stderr: int) -> int:
    actions = [(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1), (os.POSIX_SPAWN_DUP2, stderr, 2)]
    try:
        return os.posix_spawnp(argv[0], argv, env, file_actions=actions, setsigdef=[SIGPIPE])
    except OSError as e:
        raise GitMissing(os.strerror(e.errno or 0)) from None


def _exchange(fds: list[int], in_write: int, stdin: bytes, out_read: int, err_read: int) -> tuple[bytes, bytes]:
    """Feed `stdin` and drain both pipes until they end. Polling all three is what keeps full pipes from blocking each other."""
    import select

    poll = select.poll()
    chunks: dict[int, list[bytes]] = {out_read: [], err_read: []}
    for fd in chunks:
        poll.register(fd, select.POLLIN)
    left = memoryview(stdin)
    if in_write >= 0:
        os.set_blocking(in_write, False)
        poll.register(in_write, select.POLLOUT)
    n_open = len(chunks)
    while n_open:
        for fd, _ in poll.poll():
            if fd == in_write:
                left = _feed(fd, left)
                if not left:
                    poll.unregister(fd)
                    _close(fds, fd)
                continue
            chunk = os.read(fd, READ_SIZE)
            if chunk:
                chunks[fd].append(chunk)
            else:
                poll.unregister(fd)
                n_open -= 1
    return b"".join(chunks[out_read]), b"".join(chunks[err_read])


def _feed(fd: int, left: memoryview) -> memoryview:
    """Write what the pipe takes; return the rest. A child that reads no more ends the feeding, as its status tells why."""
    try:
        return left[os.write(fd, left[:READ_SIZE]) :]
    except BlockingIOError:
        return left
    except BrokenPipeError:
        return left[:0]


def _pipe(fds: list[int]) -> tuple[int, int]:
    read, write = os.pipe()
    return _keep(fds, read), _keep(fds, write)


def _keep(fds: list[int], fd: int) -> int:
    """Note a descriptor to close, moved above 2 first: a parent started with closed standard streams would lose it in the child."""
    if fd < 3:
        import fcntl

        low, fd = fd, fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
        os.close(low)
    fds.append(fd)
    return fd


def _close(fds: list[int], fd: int) -> None:
    fds.remove(fd)
    os.close(fd)


def _run_with_subprocess(argv: list[str], stdin: bytes, env: Mapping[str, str]) -> tuple[int, bytes, bytes]:
    import subprocess

    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, env=dict(env), check=False)
    except OSError as e:
        raise GitMissing(e.strerror or str(e)) from None
    return done.returncode, done.stdout, done.stderr
