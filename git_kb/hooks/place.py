"""Where git looks for hooks here, and why there."""

from __future__ import annotations

import os
from typing import NamedTuple

from git_kb.repo.discover import Place
from git_kb.repo.process import git_at


class HooksPath(NamedTuple):
    """directory: absolute. inside: whether it is this repository's. set_by: scope and file of core.hooksPath, "" without."""

    directory: str
    inside: bool
    set_by: str


def hooks_path(place: Place) -> HooksPath:
    """Return where git looks for hooks, in this work tree. As git says: core.hooksPath and linked work trees count."""
    _, out = git_at(place, ["rev-parse", "--git-path", "hooks"])
    directory = os.path.normpath(os.path.join(place.git_cwd, os.fsdecode(out.removesuffix(b"\n"))))
    status, setting = git_at(place, ["config", "-z", "--show-scope", "--show-origin", "--get", "core.hooksPath"], ok=(0, 1))
    parts = [os.fsdecode(part) for part in setting.split(b"\0")]
    set_by = f"{parts[0]}, {parts[1]}" if status == 0 and len(parts) > 2 else ""
    real = os.path.realpath(directory)
    roots = [os.path.realpath(root) for root in (place.work_tree, place.common_dir, place.git_dir) if root]
    inside = any(real.startswith(root.rstrip(os.sep) + os.sep) for root in roots)
    return HooksPath(directory, inside, set_by)


class ConfigHook(NamedTuple):
    """A hook in git's configuration (2.54 and later): run before those in the directory, whatever core.hooksPath says."""

    name: str
    events: tuple[str, ...]
    command: str
    enabled: bool


def config_hooks(place: Place) -> list[ConfigHook]:
    """Return the hooks in git's configuration, sorted by name."""
    status, out = git_at(place, ["config", "-z", "--get-regexp", r"^hook\..*\.(command|event|enabled)$"], ok=(0, 1))
    found: dict[str, dict[str, list[str]]] = {}
    for row in out.split(b"\0")[:-1] if status == 0 else []:
        key, newline, value = os.fsdecode(row).partition("\n")
        name, _, last = key.removeprefix("hook.").rpartition(".")
        found.setdefault(name, {}).setdefault(last, []).append(value if newline else "true")
    hooks = []
    for name, values in sorted(found.items()):
        if command := values.get("command", [""])[-1]:
            enabled = values.get("enabled", ["true"])[-1].lower() not in ("false", "no", "off", "0", "")
            hooks.append(ConfigHook(name, tuple(values.get("event", ())), command, enabled))
    return hooks


def runs_config_hooks(place: Place) -> bool:
    """Return whether this git runs hooks from its configuration: it can list hooks since it does."""
    status, _ = git_at(place, ["hook", "list", "pre-commit"], ok=tuple(range(256)))
    return status in (0, 1)
