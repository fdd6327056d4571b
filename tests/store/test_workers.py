"""Calls in other processes: order, reading ahead, signs of life, and workers that die."""

import os
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
