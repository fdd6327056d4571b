"""Things that stand where a file or a directory should be."""

import os
import shutil
import signal
import socket
from contextlib import contextmanager


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def directory(path):
    remove(path)
    os.mkdir(path)
    with open(os.path.join(path, "mine"), "w") as file:
        file.write("precious")


def named_pipe(path):
    remove(path)
    os.mkfifo(path)


def a_socket(path):
    """A path that long does not fit into an address, so it is bound by its name from where it lies."""
    remove(path)
    before = os.getcwd()
    os.chdir(os.path.dirname(path))
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(os.path.basename(path))
    finally:
        os.chdir(before)


def link_to_itself(path):
    remove(path)
    os.symlink(os.path.basename(path), path)


def link_to_nothing(path):
    remove(path)
    os.symlink("nowhere", path)


def a_file(path):
    remove(path)
    with open(path, "w") as file:
        file.write("precious")


@contextmanager
def time_limit(seconds):
    """Whatever waits for a writer of a pipe, or the holder of a lock, fails."""

    def late(number, frame):
        raise TimeoutError(f"after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


ODD = [directory, named_pipe, a_socket, link_to_itself, link_to_nothing]


def put_in_the_way(kb, directory, name, odd):
    """Put a file in the place of a directory of the cache, or something odd under one of our names into it."""
    top = kb.path(f".git/kb/{directory}").decode()
    if odd == "file":
        remove(top)
        kb.write(f".git/kb/{directory}", "mine\n")
        return
    os.makedirs(top, exist_ok=True)
    below = os.path.join(top, name)
    named_pipe(below) if odd == "pipe below" else os.mkdir(below)
