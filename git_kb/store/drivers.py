"""The merge drivers in git's configuration: what `git kb init` sets in each clone. docs/format-merge.md, "The driver's command"."""

from __future__ import annotations

from git_kb.repo.config import read_config, write_local
from git_kb.repo.discover import Place
from git_kb.repo.process import git_at

# Kind, as `git kb merge-driver` takes it -> the name that git shows.
NAMES = {"manifest": "git-kb manifests", "page": "git-kb wiki pages", "index": "git-kb index pages"}
# A driver that cannot run, or dies, must not leave our version alone in place: then git's own text merge does the work. 3 is ours
# for "markers of a conflict written"; a missing program gives 127, a traceback 1, a signal more than 128.
COMMAND = (
    "git kb merge-driver {kind} --marker-size=%L --path=%P -- %O %A %B; r=$?; case $r in 0) exit 0;; 3) exit 1;; esac; "
    "exec git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B"
)
# A path that no tree of ours has to have, for each kind.
EXAMPLES = {"kb/documents/a.toml": "manifest", "kb/wiki/pages/a.md": "page", "kb/wiki/index.md": "index"}


def driver_settings() -> dict[str, str]:
    """Return key -> value of all drivers."""
    settings = {}
    for kind, name in NAMES.items():
        settings[f"merge.kb-{kind}.name"] = name
        settings[f"merge.kb-{kind}.driver"] = COMMAND.format(kind=kind)
    return settings


def missing_drivers(place: Place) -> list[str]:
    """Return the keys that this clone lacks or has otherwise. Raises GitFailed for a configuration git cannot read."""
    config = read_config(place, "merge")
    return [key for key, value in driver_settings().items() if config.get(key) != value]


def install_drivers(place: Place) -> list[str]:
    """Set what is missing in the repository's own configuration, and return the keys."""
    missing = missing_drivers(place)
    settings = driver_settings()
    for key in missing:
        write_local(place, key, settings[key])
    return missing


def unconfigured_drivers(place: Place) -> list[str]:
    """Return the drivers of ours that the attributes of the work tree name and this clone has no command for."""
    _, out = git_at(place, ["check-attr", "-z", "merge", "--", *EXAMPLES])
    named = set(out.split(b"\0")[2::3])
    drivers = [f"kb-{kind}" for kind in NAMES if f"kb-{kind}".encode() in named]
    if not drivers:
        return []
    config = read_config(place, "merge")
    return [driver for driver in drivers if not config.get(f"merge.{driver}.driver")]
