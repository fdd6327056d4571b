"""Running git: one-shot calls that raise git's own words, and the long-lived `git cat-file --batch`.

With `spawn.py` the only place that starts a program.
"""

from __future__ import annotations

import os
from collections import deque

from git_kb.errors import Damaged, KbError
from git_kb.repo.spawn import GitMissing, run_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from subprocess import Popen
    from typing import IO

    from git_kb.repo.discover import Place

# A pipe holds at least this much on every system. While fewer bytes of names are unanswered, writing one can never block.
PIPE_SIZE = 4096
READ_SIZE = 1 << 16
MISSING = "missing"
NOT_FETCHED = "check the remote ('git remote -v') and the connection, then try again"


class GitFailed(KbError):
    """Git ended with a failure. The message is git's own; `args_`, `status` and `stderr` have the facts."""

    def __init__(self, args: list[str], status: int, stderr: bytes):
        self.args_, self.status, self.stderr = args, status, stderr
        text = os.fsdecode(stderr).strip()
        for prefix in ("fatal: ", "error: "):
            text = text.removeprefix(prefix)
        if b" from promisor remote" in stderr:
            # Several lines of transport, fetch and advice.
            text = f"this partial clone left out what is needed, and git cannot fetch it: {text.partition(chr(10))[0]}"
            self.hint = NOT_FETCHED
        super().__init__(text or f"git {args[0] if args else ''} {_ending(status)}")


class BrokenStream(Damaged):
    """`git cat-file --batch` gave something that is no answer."""

    def __init__(self, header: bytes):
        self.header = header
        super().__init__(f"git cat-file gave an answer that makes no sense: '{os.fsdecode(header[:100])}'")


def git(
    args: list[str],
    cwd: str | None = None,
    input: bytes = b"",
    check: bool = True,
    env: Mapping[str, str] | None = None,
) -> bytes:
    """Run git and return its standard output. With `check`, raises GitFailed unless it ends with 0.

    `env` None is the process's own environment with GIT_OPTIONAL_LOCKS=0.
    """
    status, out, err = run_git(args, cwd, input, own_env() if env is None else env)
    if check and status != 0:
        raise GitFailed(args, status, err)
    return out


def git_at(
    place: Place,
    args: list[str],
    input: bytes = b"",
    ok: tuple[int, ...] = (0,),
    env: Mapping[str, str] | None = None,
) -> tuple[int, bytes]:
    """Run git on the repository of `place`, from the top of its work tree, and return (status, stdout).

    Raises GitFailed for a status not in `ok`. `env` adds variables.
    """
    status, out, err = run_git(args, place.git_cwd, input, place.git_env(env))
    if status not in ok:
        raise GitFailed(args, status, err)
    return status, out


def own_env(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for git on our own repository: GIT_* stay, as a hook's GIT_INDEX_FILE names the index to look at."""
    return {**(os.environ if env is None else env), "GIT_OPTIONAL_LOCKS": "0"}


def foreign_env(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for git on another repository: what binds git to ours (GIT_DIR, GIT_INDEX_FILE, ...) is dropped."""
    clean = own_env(env)
    for name in git(["rev-parse", "--local-env-vars"], env=clean).decode().split():
        clean.pop(name, None)
    return clean


class CatFile:
    """Objects by name, many at a time, through `git cat-file --batch`. Processes stay open between reads until `close`.

    Not for use from several threads at once.
    """

    def __init__(self, cwd: str | None = None, env: Mapping[str, str] | None = None):
        self.cwd, self.env = cwd, own_env() if env is None else env
        self._idle: list[_Batch] = []

    @classmethod
    def at(cls, place: Place, env: Mapping[str, str] | None = None) -> CatFile:
        """Return one that reads the repository of `place`; `env` adds variables."""
        return cls(place.git_cwd, place.git_env(env))

    def __enter__(self) -> CatFile:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def read_many(self, names: Iterable[bytes]) -> Iterator[tuple[bytes, bytes, str, bytes]]:
        """Yield (name, oid in hex, type, data) for each name, in order. Names are anything git resolves (`:path`, ids, ...).

        A name without an object (or an ambiguous one) comes as (name, b"", "missing", b""). Holds one object and the names of a few
        requests in memory. Several reads may be under way at once: each has a process of its own. Raises GitFailed when git dies,
        for example of a damaged object.
        """
        batch = self._idle.pop() if self._idle else _Batch(self.cwd, self.env)
        finished = False
        try:
            yield from _pipelined(batch, _Requests(iter(names), self._resolve))
            finished = True
        finally:
            # A read left early has answers in the pipe; such a process is of no more use.
            if finished:
                self._idle.append(batch)
            else:
                batch.kill()

    def read(self, name: bytes) -> tuple[bytes, str, bytes]:
        """Return (oid in hex, type, data) of one object; (b"", "missing", b"") when there is none."""
        for _, oid, kind, data in self.read_many([name]):
            found = oid, kind, data
        return found

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _resolve(self, name: bytes) -> bytes:
        """Return the oid of a name that cannot stand on a line, b"" when it has none."""
        if b"\0" in name:
            return b""
        status, out, _ = run_git(
            ["rev-parse", "--verify", "--quiet", "--end-of-options", os.fsdecode(name)], self.cwd, b"", self.env
        )
        return out.strip() if status == 0 else b""


class _Batch:
    """One `git cat-file --batch` process."""

    def __init__(self, cwd: str | None, env: Mapping[str, str]):
        import subprocess
        import tempfile

        self.args = ["cat-file", "--batch"]
        # A file, not a pipe: nobody reads it while git runs, so a pipe could fill up and stop git.
        self.stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        try:
            self.process: Popen[bytes] = subprocess.Popen(
                ["git", *(["-C", cwd] if cwd is not None else []), *self.args],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.stderr,
                env=dict(env),
                bufsize=0,
            )
        except OSError as e:
            self.stderr.close()
            raise GitMissing(e.strerror or str(e)) from None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin.fileno(), self.process.stdout.fileno()
        self.buffer, self.start = b"", 0

    def send(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self.stdin, data) :]
        except BrokenPipeError:
            raise self.failure() from None

    def line(self) -> bytes:
        """Return the next line without its end."""
        end = self.buffer.find(b"\n", self.start)
        while end < 0:
            scanned = len(self.buffer) - self.start
            self.buffer, self.start = self.buffer[self.start :] + self._some(), 0
            end = self.buffer.find(b"\n", scanned)
        line = self.buffer[self.start : end]
        self.start = end + 1
        return line

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        end = self.start + size
        if end <= len(self.buffer):
            data = self.buffer[self.start : end]
            self.start = end
            return data
        parts = [self.buffer[self.start :]]
        size -= len(parts[0])
        while size > 0:
            parts.append(self._some(min(max(size, READ_SIZE), 1 << 20)))
            size -= len(parts[-1])
        if size < 0:
            last = parts.pop()
            parts.append(last[:size])
            self.buffer, self.start = last, len(last) + size
        else:
            self.buffer, self.start = b"", 0
        return b"".join(parts)

    def _some(self, size: int = READ_SIZE) -> bytes:
        data = os.read(self.stdout, size)
        if not data:
            raise self.failure()
        return data

    def failure(self) -> GitFailed:
        """Return the error for a git that ended before its time."""
        self.close()
        return GitFailed(self.args, self.process.returncode, self.words)

    words = b""

    def close(self) -> None:
        """End git by closing its input, and wait for it."""
        if self.stderr.closed:
            return
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.wait()
        self.stderr.seek(0)
        self.words = self.stderr.read(READ_SIZE)
        self.stderr.close()

    def kill(self) -> None:
        if not self.stderr.closed:
            self.process.kill()
        self.close()


def _pipelined(batch: _Batch, requests: _Requests) -> Iterator[tuple[bytes, bytes, str, bytes]]:
    """Keep the pipe to git about half full of names while answers come back.

    Neither side can wait for the other for ever: we write only what the pipe surely takes, or when git has answered all and
    is reading.
    """
    while True:
        batch.send(requests.fill())
        if not requests.asked:
            return
        yield (requests.answered(), *_answer(batch))


class _Requests:
    """Names on their way to git: taken from `names`, asked, answered."""

    def __init__(self, names: Iterator[bytes], resolve: Callable[[bytes], bytes]):
        self.names, self.resolve = names, resolve
        self.asked: deque[tuple[bytes, int]] = deque()
        self.n_unanswered = 0
        self.waiting: tuple[bytes, bytes] | None = self._next()

    def fill(self) -> bytes:
        """Return the lines to send now; none while the pipe is half full."""
        lines = []
        if self.n_unanswered < PIPE_SIZE // 2:
            while self.waiting and (not self.asked or self.n_unanswered + len(self.waiting[1]) <= PIPE_SIZE):
                name, line = self.waiting
                self.asked.append((name, len(line)))
                self.n_unanswered += len(line)
                lines.append(line)
                self.waiting = self._next()
        return b"".join(lines)

    def answered(self) -> bytes:
        name, size = self.asked.popleft()
        self.n_unanswered -= size
        return name

    def _next(self) -> tuple[bytes, bytes] | None:
        for name in self.names:
            # Git takes a CR off the line's end.
            odd = b"\n" in name or b"\0" in name or name.endswith(b"\r")
            return name, (self.resolve(name) if odd else name) + b"\n"
        return None


def _answer(batch: _Batch) -> tuple[bytes, str, bytes]:
    header = batch.line()
    words = header.split(b" ")
    if words[-1] in (b"missing", b"ambiguous", b"submodule"):
        return b"", MISSING, b""
    if len(words) != 3 or not words[2].isdigit():
        raise BrokenStream(header)
    data = batch.take(int(words[2]) + 1)
    return words[0], words[1].decode(), data[:-1]


def _ending(status: int) -> str:
    return f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
