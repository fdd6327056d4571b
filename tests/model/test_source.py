"""Sources as manifests name them."""

from hypothesis import given
from hypothesis import strategies as st

from git_kb.model.source import path_of_source, source_of_path


@given(st.binary(min_size=1, max_size=60).filter(lambda b: b"\0" not in b))
def test_source_round_trip(raw):
    source = source_of_path(raw)
    source.encode()
    back = path_of_source(source)
    assert back == raw or (
        back is None and (b"://" in raw or any(p in (b"", b".", b"..") or p.lower() == b".git" for p in raw.split(b"/")))
    )


def test_sources_that_leave_the_repository_are_refused():
    for bad in ("../x", "a/../../x", "/etc/passwd", "a//b", ".git/config", "x/.GIT/hooks", "https://x/y", ""):
        assert path_of_source(bad) is None
