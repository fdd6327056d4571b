"""Regular files, and what to do about anything else that stands in their place.

A pipe would make its reader wait for ever, a device would never end, a link would lead elsewhere. On the search path.
"""

from __future__ import annotations

import errno
import os
import stat

from git_kb.errors import KbError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)


class NotRegular(OSError):
    """What should be a regular file is something else."""

    def __init__(self, path: str | bytes, mode: int):
        super().__init__(errno.EINVAL, f"not a regular file but {kind(mode)}", path)


class InTheWay(KbError):
    """Something stands where one of our files belongs, and cannot be moved. `what` says what it is."""

    hint = "move it away by hand; what belongs there is made again"

    def __init__(self, path: str, what: str, error: OSError):
        self.path, self.what = path, what
        super().__init__(f"'{path}' is {what}, and it cannot be moved out of the way: {error.strerror or error}")


def kind(mode: int) -> str:
    """Return what a mode from `stat` stands for, with its article."""
    return KINDS.get(stat.S_IFMT(mode), "a regular file" if stat.S_ISREG(mode) else "something odd")


def open_regular(path: str | bytes, follow: bool = False) -> int:
    """Open a regular file for reading and return its descriptor. Never waits. `follow`: a link to a regular file will do.

    Raises NotRegular, and OSError as `os.open` does.
    """
    # Looking first keeps us from opening a device, which can have effects of its own.
    _check(path, os.stat(path) if follow else os.lstat(path))
    fd = os.open(path, FLAGS | (0 if follow else NOFOLLOW))
    try:
        _check(path, os.fstat(fd))
    except BaseException:
        os.close(fd)
        raise
    return fd


def read_regular(path: str | bytes, follow: bool = False) -> bytes:
    """Return a regular file's bytes. Raises NotRegular, OSError."""
    with open(open_regular(path, follow), "rb") as file:
        return file.read()


def replace_file(path: str, data: bytes) -> None:
    """Replace a file by one with `data`, in one step, or leave it as it was. Raises OSError.

    For a file that git made for us and reads next: it need not outlive a power cut, for which `lockfile.atomic_write` is.
    """
    temporary = f"{path}.{os.getpid()}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with open(fd, "wb") as file:
            file.write(data)
        os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def set_aside(path: str, what: str, warn: Callable[[str], None]) -> None:
    """Rename what stands in the place of one of our files, and is `what`, to `<path>.broken-<n>`. Raises InTheWay.

    It may be somebody's: it is never deleted.
    """
    n = 1
    while os.path.lexists(aside := f"{path}.broken-{n}"):
        n += 1
    try:
        os.rename(path, aside)
    except FileNotFoundError:
        return  # another process has done it
    except OSError as e:
        raise InTheWay(path, what, e) from None
    warn(f"'{path}' is {what}; it is now '{os.path.basename(aside)}'")


def _check(path: str | bytes, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegular(path, status.st_mode)
