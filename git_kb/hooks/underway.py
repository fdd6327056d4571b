"""Is git in the middle of something that makes many commits or checkouts? Then hooks wait for its end."""

from __future__ import annotations

import os

from git_kb.hooks.script import UNDERWAY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.repo.discover import Place


def is_underway(place: Place, hook: str, arguments: list[str]) -> bool:
    """Return whether a hook has to wait: a rebase, cherry-pick, revert, am or bisect goes on. post-rewrite ends a rebase."""
    if hook == "post-rewrite" and arguments[:1] == ["rebase"]:
        return False
    return any(os.path.lexists(os.path.join(place.git_dir, name)) for name in UNDERWAY)
