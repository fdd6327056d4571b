import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.repo.discover import discover
from git_kb.repo.ident import (
    FALLBACK_EMAIL,
    FALLBACK_NAME,
    Ident,
    NoIdentity,
    author_ident,
    committer_ident,
    decode_ident,
    encode_ident,
)
from git_kb.repo.process import GitFailed

from .gitrepo import git, init

names = st.text(st.characters(exclude_characters="<>\n\0", exclude_categories=["Cs", "Zs", "Cc"]), max_size=20)
zones = st.builds(lambda s, h, m: f"{s}{h:02}{m:02}", st.sampled_from("+-"), st.integers(0, 14), st.sampled_from([0, 30, 45]))


@pytest.fixture
def top(tmp_path):
    return init(tmp_path / "repo")


def unknown(**more):
    """An environment in which git cannot know the user."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))}
    return {**env, "EMAIL": "", **more}


def test_author_and_committer_are_gits(top):
    place = discover(top)
    assert author_ident(place) == Ident("A U Thor", "author@example.com", 1700000000, "+0100")
    assert committer_ident(place) == Ident("C O Mitter", "committer@example.com", 1700000100, "+0100")


def test_configured_user_and_any_date_format(top):
    git("config", "user.name", "Jörg", cwd=top)
    git("config", "user.email", "j@example.com", cwd=top)
    env = unknown(GIT_AUTHOR_DATE="2020-02-02T12:00:00-0330", GIT_COMMITTER_DATE="@1234567890 +0000")
    place = discover(top, env)
    assert author_ident(place) == Ident("Jörg", "j@example.com", 1580657400, "-0330")
    assert committer_ident(place) == Ident("Jörg", "j@example.com", 1234567890, "+0000")


def test_source_date_epoch_dates_what_git_would_not(top):
    place = discover(top, {**unknown(SOURCE_DATE_EPOCH="1000"), "GIT_COMMITTER_DATE": "@2000 +0200"})
    git("config", "user.name", "x", cwd=top)
    git("config", "user.email", "x", cwd=top)
    assert author_ident(place)[2:] == (1000, "+0000")
    assert committer_ident(place)[2:] == (2000, "+0200")
    wrong = discover(top, unknown(GIT_AUTHOR_DATE="the day before"))
    for fallback in (False, True):
        with pytest.raises(GitFailed, match="invalid date format"):
            author_ident(wrong, fallback)
    odd = discover(top, unknown(SOURCE_DATE_EPOCH="yesterday"))
    assert author_ident(odd).when > 1_700_000_000


def test_an_unknown_user_is_an_error_or_a_stand_in(top):
    git("config", "user.useConfigOnly", "true", cwd=top)
    place = discover(top, unknown(SOURCE_DATE_EPOCH="1000"))
    with pytest.raises(NoIdentity, match=r"(?i)identity|email") as caught:
        author_ident(place)
    assert "user.name" in caught.value.hint
    assert (
        author_ident(place, fallback=True)
        == committer_ident(place, fallback=True)
        == Ident(FALLBACK_NAME, FALLBACK_EMAIL, 1000, "+0000")
    )


@given(names, names, st.integers(0, 1 << 40), zones)
def test_ident_round_trip(name, email, when, tz):
    ident = Ident(name, email, when, tz)
    assert decode_ident(encode_ident(ident)) == ident


@given(st.binary(max_size=60))
def test_any_line_decodes(line):
    ident = decode_ident(line)
    assert ident.when >= 0
    encode_ident(ident)


@pytest.mark.parametrize(
    ("line", "ident"),
    [
        (b"A <a> 1 +0000", Ident("A", "a", 1, "+0000")),
        (b"A <a>", Ident("A", "a", 0)),
        (b"<> 5 -0100", Ident("", "", 5, "-0100")),
        (b"A <a <b>> 5 -0100", Ident("A", "a <b>", 5, "-0100")),
        (b"A", Ident("A", "", 0)),
        (b"A <a> x y", Ident("A", "a", 0)),
        (b"\xff <\xfe> 1 +0000", Ident("\udcff", "\udcfe", 1)),
    ],
)
def test_damaged_idents(line, ident):
    assert decode_ident(line) == ident


def test_what_would_break_a_header_is_left_out():
    assert encode_ident(Ident("a\nb <c>\0", "x>\n", 1)) == b"ab c <x> 1 +0000"
