"""Putting the hook scripts where git looks, taking them away, and telling whether git will run them.

A hook that is not ours is never edited: it is kept byte for byte as `<name>.kb-prev`, and our script runs it first. All is looked
at before anything is written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from git_kb.errors import KbError
from git_kb.hooks.place import HooksPath
from git_kb.hooks.script import HOOKS, PREVIOUS, hook_script, is_edited, is_ours, runs_us
from git_kb.repo.lockfile import CannotWrite, atomic_write
from git_kb.repo.regular import kind, read_regular

NEW = ".kb-new"


class HookInTheWay(KbError):
    """A file in the hooks directory keeps us from doing what was asked without a loss. Nothing was written."""

    exit_code = 1

    def __init__(self, path: str, why: str, hint: str):
        self.path, self.why, self.hint = path, why, hint
        super().__init__(f"'{path}' {why}; nothing was written")


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook as it is now.

    content: absent, ours, old (ours, of another version), edited (ours, changed by somebody), calls-us (somebody's, with our line),
    foreign. executable: whether git would run it. previous: absent, runs, or ignored (not executable, or no file).
    """

    name: str
    path: str
    content: str
    executable: bool
    previous: str


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done to one hook. action: write, chain (keep the one that is there and run it first), update, none;
    restore, remove. `hook`: as it was before.
    """

    action: str
    hook: Hook


def look(hooks: HooksPath) -> list[Hook]:
    """Return the hooks as they are. Raises HookInTheWay for something else than a file or a link to one."""
    return [_look_at(name, os.path.join(hooks.directory, name)) for name in HOOKS]


def _look_at(name: str, path: str) -> Hook:
    content = "absent"
    if os.path.lexists(path):
        try:
            # Many keep hooks in the work tree and link to them. A link to nothing is somebody's, too.
            data = read_regular(path, follow=True)
        except OSError:
            if not os.path.islink(path) and not stat.S_ISREG(os.lstat(path).st_mode):
                raise HookInTheWay(path, f"is {kind(os.lstat(path).st_mode)}, not a hook", "move it away") from None
            data = b""
        content = "foreign"
        if not os.path.islink(path) and is_ours(data, name):
            content = "ours" if data == hook_script(name) else "old"
        elif is_edited(data, name):
            content = "edited"
        elif runs_us(data, name):
            content = "calls-us"
    before = path + PREVIOUS
    previous = "absent"
    if os.path.lexists(before):
        previous = "runs" if os.path.isfile(before) and os.access(before, os.X_OK) else "ignored"
    return Hook(name, path, content, os.path.isfile(path) and os.access(path, os.X_OK), previous)


def plan_install(hooks: list[Hook]) -> list[Step]:
    """Return what installing does to each hook. Raises HookInTheWay where something would get lost."""
    return [Step(_install_action(hook), hook) for hook in hooks]


def _install_action(hook: Hook) -> str:
    if hook.content == "edited":
        why = "is a hook of git-kb that was changed by hand"
        raise HookInTheWay(hook.path, why, "delete it, or move your lines to a file of your own, then install again")
    if hook.content == "foreign" and hook.previous != "absent":
        why = f"is not of git-kb, and '{hook.name}{PREVIOUS}' holds the hook that was there before"
        raise HookInTheWay(hook.path, why, "make one hook of the two, or move one away, then install again")
    if hook.content == "ours" and hook.executable:
        return "none"
    return {"absent": "write", "foreign": "chain", "calls-us": "none"}.get(hook.content, "update")


def plan_uninstall(hooks: list[Hook]) -> list[Step]:
    """Return what uninstalling does to each hook. Raises HookInTheWay for one of ours that somebody changed."""
    return [Step(_uninstall_action(hook), hook) for hook in hooks]


def _uninstall_action(hook: Hook) -> str:
    if hook.content == "edited":
        raise HookInTheWay(hook.path, "is a hook of git-kb that was changed by hand", "take out what is yours and delete the rest")
    if hook.content in ("ours", "old"):
        return "remove" if hook.previous == "absent" else "restore"
    return "restore" if hook.content == "absent" and hook.previous != "absent" else "none"


def carry_out(steps: list[Step]) -> Iterator[Step]:
    """Do what was planned, and yield each step that changed something, when it is done. Raises CannotWrite."""
    for step in steps:
        try:
            if step.action == "none":
                continue
            if step.action == "restore":
                os.replace(step.hook.path + PREVIOUS, step.hook.path)
            elif step.action == "remove":
                os.unlink(step.hook.path)
            else:
                _write(step)
        except OSError as e:
            raise CannotWrite(step.hook.path, e) from None
        yield step


def _write(step: Step) -> None:
    path = step.hook.path
    os.makedirs(os.path.dirname(path), exist_ok=True)
    new = path + NEW
    if os.path.lexists(new):
        os.unlink(new)
    atomic_write(new, hook_script(step.hook.name))
    mode = stat.S_IMODE(os.stat(new).st_mode)
    # Who may read it may run it.
    os.chmod(new, mode | (mode & 0o444) >> 2)
    if step.action == "chain":
        _keep(path)
    os.replace(new, path)


def _keep(path: str) -> None:
    """Give a hook a second name, so that there is no moment without it; where that is impossible, another name."""
    try:
        os.link(path, path + PREVIOUS, follow_symlinks=False)
    except (OSError, NotImplementedError):
        os.rename(path, path + PREVIOUS)
