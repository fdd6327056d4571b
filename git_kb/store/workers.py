"""Work in other processes: calls in, results out, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from git_kb.errors import KbError

K = TypeVar("K")
T = TypeVar("T")
# Imported once, before workers are forked, instead of by each of them.
PRELOADED = ["git_kb.store.cut", "git_kb.store.freshness", "git_kb.repo.open"]
# A call may take minutes; whoever holds a lock wants to give a sign of life before that.
BEAT_S = 30.0


class WorkerDied(KbError):
    """A worker process ended before its work was done."""

    hint = "it may have run out of memory; '--jobs 1' does without workers"

    def __init__(self) -> None:
        super().__init__("a worker process died")


def end_with_parent() -> None:
    """Have this worker end when the process that it works for does, even by SIGKILL.

    Workers hold both ends of the pipe they wait at, so that nobody would ever tell an idle one that its work will not come.
    """
    import os
    from multiprocessing import connection, parent_process
    from threading import Thread

    parent = parent_process()
    if parent is None:
        return

    def wait_for_end() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    Thread(target=wait_for_end, name="end-with-parent", daemon=True).start()


def in_workers(
    function: Callable[..., T], calls: Iterable[tuple[K, tuple[Any, ...]]], jobs: int, beat: Callable[[], None] = lambda: None
) -> Iterator[tuple[K, T]]:
    """Yield (key, function(*arguments)) for each (key, arguments), in order, with `jobs` processes at work.

    `calls` is read ahead by two calls a process, no more. `beat` is called at least every 30 s. Raises WorkerDied, and what
    `function` raises.
    """
    from concurrent.futures import Future, ProcessPoolExecutor, wait
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    waiting: deque[tuple[K, Future[T]]] = deque()

    def next_result() -> tuple[K, T]:
        key, future = waiting.popleft()
        while not future.done():
            wait([future], BEAT_S)
            beat()
        return key, future.result()

    # A fork of this process would copy what threads hold.
    context = get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=end_with_parent) as workers:
        try:
            for key, arguments in calls:
                waiting.append((key, workers.submit(function, *arguments)))
                if len(waiting) > 2 * jobs:
                    yield next_result()
            while waiting:
                yield next_result()
        except BrokenProcessPool:
            raise WorkerDied from None
        finally:
            for _, future in waiting:
                future.cancel()
