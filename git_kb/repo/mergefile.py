"""`git merge-file`: text merged as git merges it, with git's own markers and `merge.conflictStyle`."""

from __future__ import annotations

import os

from git_kb.repo.spawn import run_git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# More conflicts than that are counted as so many (git-merge-file(1)).
MAX_CONFLICTS = 127


def merge_file(
    base: bytes, ours: bytes, theirs: bytes, marker_size: int, cwd: str | None = None, env: Mapping[str, str] | None = None
) -> tuple[bytes, bool]:
    """Return (the merged text, has it markers of a conflict?). The configuration is that of the repository at `cwd`.

    Raises GitFailed, for binary data for example.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="git-kb-merge-") as directory:
        paths = [os.path.join(directory, name) for name in ("ours", "base", "theirs")]
        for path, data in zip(paths, (ours, base, theirs), strict=True):
            with open(path, "xb") as file:
                file.write(data)
        labels = [word for label in ("ours", "base", "theirs") for word in ("-L", label)]
        arguments = ["merge-file", "-p", f"--marker-size={marker_size}", *labels, *paths]
        status, out, err = run_git(arguments, cwd, env=env)
    if not 0 <= status <= MAX_CONFLICTS:
        from git_kb.repo.process import GitFailed

        raise GitFailed(arguments, status, err)
    return out, status > 0
