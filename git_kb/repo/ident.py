"""Who and when: author and committer as git takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from git_kb.errors import KbError
from git_kb.repo.process import GitFailed, git_at

if TYPE_CHECKING:
    from git_kb.repo.discover import Place

FALLBACK_NAME, FALLBACK_EMAIL = "git-kb", "git-kb@localhost"
# Git leaves these out of names and addresses.
FORBIDDEN = str.maketrans("", "", "\0\n<>")


class NoIdentity(KbError):
    """Git does not know who the user is. The message is git's own."""

    hint = "set user.name and user.email with 'git config'"


class Ident(NamedTuple):
    """A person at a moment. `when`: seconds since 1970; `tz`: "+hhmm". Undecodable bytes are lone surrogates."""

    name: str
    email: str
    when: int
    tz: str = "+0000"


def encode_ident(ident: Ident) -> bytes:
    """Return the form used in commits: `Name <email> seconds zone`."""
    name, email = (text.translate(FORBIDDEN).strip() for text in (ident.name, ident.email))
    return f"{name} <{email}> {ident.when} {ident.tz}".encode("utf-8", "surrogateescape")


def decode_ident(line: bytes) -> Ident:
    """Return the identity in a commit's header. Never fails: like git, it takes a damaged date for 1970."""
    person, _, moment = line.rpartition(b">")
    name, _, email = (person if person else line).partition(b"<")
    words = moment.split()
    dated = len(words) == 2 and words[0].isdigit() and len(words[1]) == 5 and words[1][1:].isdigit() and words[1][:1] in b"+-"
    when, tz = (int(words[0]), words[1].decode()) if dated else (0, "+0000")
    return Ident(_text(name).strip(), _text(email), when, tz)


def author_ident(place: Place, fallback: bool = False) -> Ident:
    """Return the author of a commit made now. With `fallback`, git-kb stands in for a user git does not know.

    Raises NoIdentity, and GitFailed for a date that git does not understand.
    """
    return _ident(place, "AUTHOR", fallback)


def committer_ident(place: Place, fallback: bool = False) -> Ident:
    """Return the committer of a commit made now; see `author_ident`."""
    return _ident(place, "COMMITTER", fallback)


def _ident(place: Place, role: str, fallback: bool) -> Ident:
    date = _reproducible_date(place, role)
    try:
        _, line = git_at(place, ["var", f"GIT_{role}_IDENT"], env=date)
    except GitFailed as e:
        # Fails again where it is the date that git does not understand.
        _, line = git_at(place, ["var", f"GIT_{role}_IDENT"], env={**date, **_stand_in(role)})
        if not fallback:
            raise NoIdentity(str(e)) from None
    return decode_ident(line.rstrip(b"\n"))


def _stand_in(role: str) -> dict[str, str]:
    return {f"GIT_{role}_NAME": FALLBACK_NAME, f"GIT_{role}_EMAIL": FALLBACK_EMAIL}


def _reproducible_date(place: Place, role: str) -> dict[str, str]:
    """SOURCE_DATE_EPOCH, which git itself does not know, dates what no GIT_*_DATE dates."""
    env = place.git_env()
    epoch = env.get("SOURCE_DATE_EPOCH", "")
    if env.get(f"GIT_{role}_DATE") or not epoch.isdigit():
        return {}
    return {f"GIT_{role}_DATE": f"@{epoch} +0000"}


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
