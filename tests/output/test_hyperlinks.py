"""Hyperlinks: nothing of a path gets out of the sequence."""

import re
from urllib.parse import unquote_to_bytes, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.output.links import END, START, file_link, linked, takes_links


@given(st.text(), st.text(max_size=20), st.integers(1, 10**9), st.binary(min_size=1, max_size=30))
def test_a_link_holds_what_it_should_and_nothing_else(source, host, line, top):
    url = file_link(b"/" + top, host)(source, line)
    if not url:
        return
    assert re.fullmatch(r"file://[A-Za-z0-9._~%/-]*#[0-9]+", url)
    whole = linked("text", url)
    assert whole == f"{START}{url}{END}text{START}{END}"
    assert whole.count("\x1b") == 4
    path = url.removeprefix("file://").partition("#")[0]
    assert unquote_to_bytes("/" + path.partition("/")[2]).startswith(b"/")
    assert urlsplit(url).fragment == str(line)


def test_what_a_link_is():
    assert file_link(b"/top", "host")("docs/a b;.md", 7) == "file://host/top/docs/a%20b%3B.md#7"
    assert file_link(b"/top/", "host", "vscode://file{path}:{line}\x1b\n ")("ü.md", 7) == "vscode://file/top/%C3%BC.md:7"
    assert file_link(b"/top", "h")("{line}{path}.md", 7) == "file://h/top/%7Bline%7D%7Bpath%7D.md#7"
    assert file_link(b"/top", "h")("https://example.com/a", 1) == ""
    assert file_link(b"/top", "h")("../etc/passwd", 1) == ""
    assert file_link(b"/top", "h")("bytes:%FF.md", 1) == "file://h/top/%FF.md#1"
    assert linked("text", "") == "text"


@pytest.mark.parametrize(
    ("environ", "takes"),
    [
        ({}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4800"}, False),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"}, True),
        ({"TERM": "xterm-256color", "WT_SESSION": "x"}, True),
        ({"TERM": "dumb", "WT_SESSION": "x"}, False),
        ({"TERM": "xterm-kitty", "CI": "true"}, False),
        ({"FORCE_HYPERLINK": "1"}, True),
        ({"TERM": "xterm-kitty", "FORCE_HYPERLINK": "0"}, False),
    ],
)
def test_which_terminals_take_links(environ, takes):
    assert takes_links(environ) == takes
