"""Opening a repository with the body that can: libgit2 first, dulwich for what libgit2 does not know."""

from __future__ import annotations

from git_kb.errors import KbError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.repo.discover import Place
    from git_kb.repo.protocol import Repository

LIBGIT2, DULWICH = "libgit2", "dulwich"
NAMES = {"libgit2": LIBGIT2, "pygit2": LIBGIT2, "dulwich": DULWICH}


class UnknownBackend(UsageError):
    """The backend asked for is none we have."""

    hint = "GIT_KB_BACKEND is 'pygit2' (or 'libgit2', which is the same) or 'dulwich'"

    def __init__(self, name: str):
        self.name = name
        super().__init__(f"unknown backend '{name}'")


class NoBackend(KbError):
    """No body can open this repository. `reasons` maps each that was tried to why it cannot."""

    hint = "install git-kb again, so that pygit2 and dulwich come along"

    def __init__(self, git_dir: str, reasons: dict[str, str], hint: str = ""):
        self.git_dir, self.reasons = git_dir, reasons
        if hint:
            self.hint = hint
        super().__init__(f"cannot open '{git_dir}': " + "; ".join(f"{name}: {why}" for name, why in reasons.items()))


def open_repository(place: Place, backend: str | None = None) -> Repository:
    """Return the repository of `place`.

    `backend`: "libgit2" (or "pygit2") or "dulwich"; None or "" takes libgit2 wherever it can open the repository, else dulwich.
    Raises UnknownBackend, NoBackend.
    """
    if backend and backend not in NAMES:
        raise UnknownBackend(backend)
    reasons = {}
    for name in [NAMES[backend]] if backend else _fitting(place):
        try:
            return _open(place, name)
        except (ImportError, KbError) as e:
            reasons[name] = str(e)
    hint = ""
    if backend and NAMES[backend] not in _fitting(place):
        kind = "SHA-256" if place.object_format != "sha1" else "reftable"
        hint = f"unset GIT_KB_BACKEND or set it to '{DULWICH}': only that reads {kind} repositories"
    elif backend:
        hint = f"unset GIT_KB_BACKEND, and the library that can is taken; '{backend}' alone was asked for"
    raise NoBackend(place.git_dir, reasons, hint)


def _fitting(place: Place) -> list[str]:
    """Return the bodies to try. Libgit2 knows neither SHA-256 nor reftable, so its import is spared there."""
    if place.object_format != "sha1" or place.ref_format != "files":
        return [DULWICH]
    return [LIBGIT2, DULWICH]


def _open(place: Place, name: str) -> Repository:
    if name == LIBGIT2:
        from git_kb.repo.libgit2 import Libgit2Repository

        return Libgit2Repository(place)
    from git_kb.repo.dulwich import DulwichRepository

    return DulwichRepository(place)
