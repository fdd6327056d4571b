"""Reading regular files alone, and moving aside what is in the way."""

import os

import pytest
from odd import ODD, time_limit

from git_kb.repo.regular import NotRegular, open_regular, read_regular, set_aside


def test_only_regular_files_are_read(tmp_path):
    path = str(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        read_regular(path)
    (tmp_path / "file").write_bytes(b"bytes")
    assert read_regular(path) == read_regular(os.fsencode(path)) == b"bytes"
    os.symlink("file", tmp_path / "link")
    assert read_regular(str(tmp_path / "link"), follow=True) == b"bytes"
    with pytest.raises(NotRegular, match="not a regular file but a symbolic link"):
        open_regular(str(tmp_path / "link"))
    for odd in ODD:
        odd(path)
        with time_limit(10), pytest.raises(OSError, match=r"not a regular file but|Too many levels|No such file"):
            read_regular(path, follow=True)


def test_what_is_set_aside_keeps_its_kind(tmp_path):
    said = []
    for n, odd in enumerate(ODD, 1):
        odd(str(tmp_path / "file"))
        set_aside(str(tmp_path / "file"), "odd", said.append)
        assert os.path.lexists(tmp_path / f"file.broken-{n}")
    assert len(said) == len(ODD)
    set_aside(str(tmp_path / "file"), "odd", said.append)
    assert len(said) == len(ODD)


def test_a_device_is_not_opened():
    with time_limit(10), pytest.raises(NotRegular, match="a device"):
        read_regular("/dev/zero")
