"""The world of one command: streams, environment, current directory, and the repository when it is asked for.

On the search path, so it imports next to nothing.
"""

from __future__ import annotations

import os
import sys
import time

from git_kb.errors import KbError, shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO, TextIO

    from git_kb.output.links import Link
    from git_kb.repo.discover import Place
    from git_kb.repo.lockfile import WriterLock
    from git_kb.repo.protocol import Repository
    from git_kb.store.freshness import Hooks

MAX_WORKERS = 64
ALWAYS, NEVER, AUTO = "always", "never", "auto"
HYPERLINKS = "GIT_KB_HYPERLINKS"


class WriteFailure(KbError):
    """Standard output does not take what a command says: the disk is full, for example."""

    def __init__(self, error: OSError):
        super().__init__(f"write failure on standard output: {(error.strerror or str(error)).lower()}")


class StandardOutput:
    """Standard output. Raises BrokenPipeError when its reader is gone, WriteFailure for any other failure."""

    def __init__(self, stream: TextIO):
        self.stream = stream

    def write(self, text: str) -> int:
        # Even nothing is too much for a full disk.
        if text:
            self._try(lambda: self.stream.write(text))
        return len(text)

    def write_bytes(self, data: bytes) -> None:
        """Write bytes as they are, after what was written as text."""
        self.flush()
        self._try(lambda: self.stream.buffer.write(data))

    def flush(self) -> None:
        self._try(self.stream.flush)

    def isatty(self) -> bool:
        return self.stream.isatty()

    def _try(self, action: Callable[[], object]) -> None:
        try:
            action()
        except OSError as e:
            self._failed(e)

    def _failed(self, error: OSError) -> None:
        _to_nowhere(self.stream)
        if isinstance(error, BrokenPipeError):
            raise error
        raise WriteFailure(error) from None


class StandardError(StandardOutput):
    """Standard error. What cannot be written there is lost; the command does its work all the same, as git does."""

    def _failed(self, error: OSError) -> None:
        _to_nowhere(self.stream)


def _to_nowhere(stream: TextIO) -> None:
    """Let what a stream still holds vanish: the interpreter flushes at exit, and must not fail once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class CannotRead(KbError):
    """A file that the command line names cannot be read."""

    hint = "'-' reads standard input"

    def __init__(self, name: str, error: OSError):
        self.name = name
        super().__init__(f"cannot read '{name}': {(error.strerror or str(error)).lower()}")


class BadVariable(KbError):
    """A variable of the environment has a value that means nothing."""

    def __init__(self, name: str, value: str):
        self.name, self.value = name, value
        self.hint = f"unset it, or set it to {ALWAYS}, {NEVER} or {AUTO}"
        super().__init__(f"bad value '{value}' for the variable '{name}'")


class Env:
    """What a command may touch of the outside. Tests make their own."""

    def __init__(
        self,
        cwd: str,
        environ: Mapping[str, str],
        out: TextIO | StandardOutput,
        err: TextIO | StandardError,
        stdin: BinaryIO | None = None,
    ):
        self.cwd, self.environ, self.out, self.err, self._stdin = cwd, environ, out, err, stdin
        self.quiet = False
        self.n_warnings = 0
        self._place: Place | None = None
        self._repo: Repository | None = None
        self._settings: dict[str, str] | None = None

    @property
    def stdin(self) -> BinaryIO:
        if self._stdin is None:
            # A closed standard input is an empty one.
            self._stdin = sys.stdin.buffer if sys.stdin is not None else open(os.devnull, "rb")  # noqa: SIM115
        return self._stdin

    def read_file(self, name: str) -> bytes:
        """Return the bytes of a file that the command line names. Below /dev anything goes: a shell's <(...) is a pipe there.

        Raises CannotRead.
        """
        from git_kb.repo.regular import read_regular

        path = os.path.join(self.cwd, name)
        try:
            if os.path.normpath(path).startswith("/dev/"):
                with open(path, "rb") as file:
                    return file.read()
            return read_regular(path, follow=True)
        except OSError as e:
            raise CannotRead(name, e) from None

    @property
    def place(self) -> Place:
        """The repository around the current directory. Raises NoRepository."""
        if self._place is None:
            from git_kb.repo.discover import discover, discover_plain

            self._place = discover_plain(self.cwd, self.environ) or discover(self.cwd, self.environ)
        return self._place

    def use(self, place: Place) -> None:
        """Take a repository that is known already for the one around the current directory."""
        self._place = place

    @property
    def repo(self) -> Repository:
        """Its objects and refs. Costs an import of a git library."""
        if self._repo is None:
            from git_kb.repo.open import open_repository

            self._repo = open_repository(self.place, self.environ.get("GIT_KB_BACKEND"))
        return self._repo

    def now(self) -> float:
        """The present in seconds since 1970; SOURCE_DATE_EPOCH fixes it."""
        fixed = self.environ.get("SOURCE_DATE_EPOCH", "")
        return float(fixed) if fixed.isdigit() else time.time()

    def lock(self, operation: str, wait_s: float = 10.0) -> WriterLock:
        """The writer's lock of this repository, to be used in a `with`.

        Raises Locked, naming the holder, after `wait_s`, and InTheWay.
        """
        from git_kb.repo.lockfile import WriterLock
        from git_kb.store.mend import mend

        mend(self.place.kb_dir, self.warn)
        return WriterLock(self.place.kb_dir + "/lock", operation, wait_s=wait_s, warn=self.warn)

    def colour(self, when: str | None = None) -> bool:
        """Whether to colour standard output. `when`: what --color says: always, never or auto.

        Then NO_COLOR turns it off; then as git has it: color.kb or color.ui, by default on a terminal that is not dumb, or into a
        pager that git started.
        """
        if when in ("always", "never"):
            return when == "always"
        environ = self.environ
        if environ.get("NO_COLOR"):
            return False
        terminal = self.out.isatty() or bool(environ.get("GIT_PAGER_IN_USE"))
        if terminal or self._may_always_colour():
            key = "color.kb" if "color.kb" in self.settings else "color.ui"
            wish = _wish(key, self.settings.get(key, AUTO), when_true=AUTO)
            if wish != AUTO:
                return wish == ALWAYS
        return terminal and environ.get("TERM") != "dumb"

    def _may_always_colour(self) -> bool:
        """Whether some configuration may say "always", by a look at the usual files: asking git costs as much as a search."""
        from git_kb.repo.regular import read_regular

        environ = self.environ
        if environ.get("GIT_CONFIG_PARAMETERS") or environ.get("GIT_CONFIG_COUNT"):
            return True
        home = environ.get("HOME", "")
        below_home = [
            os.path.join(home, ".gitconfig"),
            os.path.join(environ.get("XDG_CONFIG_HOME") or home + "/.config", "git/config"),
        ]
        mine = [environ["GIT_CONFIG_GLOBAL"]] if "GIT_CONFIG_GLOBAL" in environ else below_home if home else []
        for path in (
            os.path.join(os.path.dirname(self.place.kb_dir), "config"),
            *mine,
            environ.get("GIT_CONFIG_SYSTEM", "/etc/gitconfig"),
        ):
            try:
                text = read_regular(path, follow=True).lower()
            except OSError:
                continue
            if b"always" in text or b"[include" in text:
                return True
        return False

    @property
    def settings(self) -> dict[str, str]:
        """What `git config` says of colours and hyperlinks. Starts git once."""
        if self._settings is None:
            from git_kb.repo.spawn import run_git

            arguments = ["config", "-z", "--get-regexp", r"^(color\.(ui|kb)|kb\.hyperlinks|kb\.hyperlinkformat)$"]
            _, out, _ = run_git(arguments, self.place.git_cwd, env=self.place.git_env())
            rows = [os.fsdecode(row).partition("\n") for row in out.split(b"\0")[:-1]]
            self._settings = {key: value if newline else "true" for key, newline, value in rows}
        return self._settings

    def links(self) -> Link | None:
        """What makes hyperlinks of files and lines, None where the output takes none.

        Only on a terminal that is known to take them; kb.hyperlinks and GIT_KB_HYPERLINKS may say always, never or auto, and
        the variable counts off a terminal too. kb.hyperlinkFormat: see output/links.py.
        """
        variable = self.environ.get(HYPERLINKS, "")
        wish = _wish(HYPERLINKS, variable, when_true=ALWAYS) if variable else ""
        if wish == NEVER or not (wish == ALWAYS or self.out.isatty()) or self.place.work_tree is None:
            return None
        from git_kb.output.links import FORMAT, file_link, is_format, takes_links

        wish = wish or _wish("kb.hyperlinks", self.settings.get("kb.hyperlinks", AUTO), when_true=ALWAYS)
        if wish == NEVER or (wish == AUTO and not takes_links(self.environ)):
            return None
        format = self.settings.get("kb.hyperlinkformat") or FORMAT
        if not is_format(format):
            from git_kb.repo.config import BadConfig

            raise BadConfig("kb.hyperlinkFormat", format, "a URL with {path}, and perhaps {host} and {line},")
        host = os.uname().nodename if hasattr(os, "uname") else ""
        return file_link(os.fsencode(self.place.work_tree), host, format)

    def hooks(
        self, operation: str, progress: Callable[[str, int, int], None] = lambda stage, done, total: None, jobs: int = 0
    ) -> Hooks:
        """What `store.freshness` needs of the outside. `jobs`: as `worker_count` takes it."""
        from git_kb.store.freshness import Hooks

        return Hooks(self.warn, self.note, lambda: self.lock(operation), progress, worker_count(jobs))

    def close(self) -> None:
        if self._repo is not None:
            self._repo.close()
            self._repo = None

    def warn(self, message: str) -> None:
        self.n_warnings += 1
        self.err.write(f"warning: {_visible(shortened(message))}\n")

    def report(self, error: KbError, hint: bool = True) -> None:
        """Say what failed, and what to do about it."""
        from git_kb.output.terminal import visible

        self.err.write(f"{'fatal' if error.exit_code == 128 else 'error'}: {visible(shortened(str(error)))}\n")
        if usage := getattr(error, "usage", ""):
            self.err.write(f"{usage}\n")
        if hint and error.hint and self.environ.get("GIT_ADVICE", "1") not in ("0", "false", "no"):
            self.err.write(f"hint: {visible(shortened(error.hint))}\n")

    def note(self, message: str) -> None:
        """Say something that --quiet silences."""
        if not self.quiet:
            self.err.write(_visible(shortened(message)) + "\n")


def _wish(key: str, value: str, when_true: str) -> str:
    """Return ALWAYS, NEVER or AUTO of a setting or a variable, which may be a truth value too. Raises BadConfig, BadVariable."""
    wish = value.lower()
    if wish in (ALWAYS, NEVER, AUTO):
        return wish
    from git_kb.repo.config import BadConfig, truth

    found = truth(value)
    if found is None:
        raise BadVariable(key, value) if key == HYPERLINKS else BadConfig(key, value, f"{ALWAYS}, {NEVER}, {AUTO} or a truth value")
    return when_true if found else NEVER


def worker_count(asked: int = 0) -> int:
    """Return how many worker processes to use: as many as asked for, and for 0 one a processor that we may run on, at most 4.

    Each holds a Python interpreter in memory, so a number without sense is cut down to MAX_WORKERS or the processors.
    """
    n = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(asked, max(n, MAX_WORKERS)) if asked > 0 else min(4, n)


def process_env() -> Env:
    """Return the world of this process. Names that are not text pass through the streams byte for byte."""
    # The interpreter has None for a stream that was closed before it started.
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        utf8 = (stream.encoding or "").lower().replace("-", "") == "utf8"
        stream.reconfigure(errors="surrogateescape" if utf8 else "backslashreplace")  # type: ignore[union-attr]
    return Env(_current_directory(), os.environ, StandardOutput(sys.stdout), StandardError(sys.stderr))


def _current_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        # It was deleted. Git says so when it is asked; what needs no directory works.
        return os.curdir


def _visible(text: str) -> str:
    if text.isprintable():
        return text
    from git_kb.output.terminal import visible_line

    return visible_line(text)
