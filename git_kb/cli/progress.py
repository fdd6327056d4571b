"""Progress on standard error: on a terminal only, and only when the work lasts."""

from __future__ import annotations

import time

from git_kb.cli.env import Env

DELAY_S, PERIOD_S = 1.0, 0.2


class Progress:
    """Callable as progress(stage, done, total)."""

    def __init__(self, env: Env, wanted: bool | None):
        self.env = env
        self.shown = wanted if wanted is not None else env.err.isatty() and not env.quiet
        self.stage = ""
        self.start = self.last = 0.0
        self.width = 0

    def __call__(self, stage: str, done: int, total: int) -> None:
        if not self.shown:
            return
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self.start, self.last = stage, now, 0.0
        if now - self.start < DELAY_S or (now - self.last < PERIOD_S and done < total):
            return
        self.last = now
        rate = done / (now - self.start)
        left = f", {(total - done) / rate:.0f} s left" if rate and done < total else ""
        line = f"{stage}: {100 * done // max(total, 1):3d}% ({done}/{total}), {rate:.0f}/s{left}"
        self.env.err.write("\r" + line.ljust(self.width))
        self.env.err.flush()
        self.width = len(line)

    def clear(self) -> None:
        """End the line, if one was begun."""
        if self.width:
            self.env.err.write("\n")
            self.width = 0
            self.stage = ""
