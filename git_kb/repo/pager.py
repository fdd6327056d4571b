"""Git's pager for long output on a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from git_kb.repo.discover import Place
from git_kb.repo.process import git_at


class Output(Protocol):
    """A stream of text, as far as a pager needs it."""

    def write(self, text: str, /) -> int: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...


@contextmanager
def paged(place: Place, out: Output) -> Iterator[Output]:
    """Yield a stream that goes through the user's pager, or `out` itself when that is no terminal or git has started one already.

    The pager is what `git var GIT_PAGER` says (GIT_PAGER, core.pager, PAGER), never anything a tracked file names.
    """
    environ = os.environ if place.env is None else place.env
    if not out.isatty() or environ.get("GIT_PAGER_IN_USE"):
        yield out
        return
    _, answer = git_at(place, ["var", "GIT_PAGER"])
    command = os.fsdecode(answer).strip()
    if command in ("", "cat"):
        yield out
        return
    import subprocess

    env = {"LESS": "FRX", "LV": "-c", **environ, "GIT_PAGER_IN_USE": "true"}
    out.flush()
    with subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=env, encoding="utf-8", errors="surrogateescape") as pager:
        assert pager.stdin is not None
        try:
            yield pager.stdin
        except BrokenPipeError:
            pass  # the user has seen enough
        finally:
            try:
                pager.stdin.close()
            except BrokenPipeError:
                pass
