"""The user's own settings: `git config kb.*`. One git process reads them all; git's scopes and includes hold."""

from __future__ import annotations

import os

from git_kb.errors import KbError
from git_kb.repo.process import git_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.repo.discover import Place

TRUE, FALSE = ("true", "yes", "on"), ("false", "no", "off", "")
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class BadConfig(KbError):
    """A setting is not of its type. `key` and `value` as git has them."""

    def __init__(self, key: str, value: str, wanted: str):
        self.key, self.value, self.wanted = key, value, wanted
        self.hint = f"set it with 'git config {key} <value>'"
        super().__init__(f"bad value '{value}' for '{key}': {wanted} expected")


class Config:
    """Settings as read once. Keys are full ("kb.search.limit"); case counts only between the first and the last dot, as in git."""

    __slots__ = ("_values", "place")

    def __init__(self, place: Place, values: dict[str, list[str | None]]):
        # None is a key without "=", which git takes for true.
        self.place, self._values = place, values

    def keys(self) -> list[str]:
        return sorted(self._values)

    def get_all(self, key: str) -> list[str]:
        """Return all values, the most general scope first."""
        return ["" if value is None else value for value in self._values.get(_normal(key), ())]

    def get(self, key: str, default: str | None = None) -> str | None:
        """Return the value that counts: the last one."""
        values = self.get_all(key)
        return values[-1] if values else default

    def get_bool(self, key: str, default: bool = False) -> bool:
        """Return a truth value. Raises BadConfig."""
        values = self._values.get(_normal(key))
        if not values:
            return default
        value = values[-1]
        if value is None:
            return True
        found = truth(value)
        if found is None:
            raise BadConfig(key, value, "a truth value")
        return found

    def get_int(self, key: str, default: int = 0) -> int:
        """Return a whole number; k, m and g after it multiply. Raises BadConfig."""
        value = self.get(key)
        if value is None:
            return default
        number = _number(value)
        if number is None:
            raise BadConfig(key, value, "a whole number")
        return number

    def get_choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """Return one of `choices`. Raises BadConfig."""
        value = self.get(key)
        if value is None:
            return default
        if value not in choices:
            raise BadConfig(key, value, "one of " + ", ".join(choices))
        return value

    def get_path(self, key: str, default: str | None = None) -> str | None:
        """Return a path with `~/` and `~user/` expanded by git."""
        if self.get(key) is None:
            return default
        _, out = git_at(self.place, ["config", "-z", "--type=path", "--get", key])
        return os.fsdecode(out.removesuffix(b"\0"))


def read_config(place: Place, section: str = "kb") -> Config:
    """Return all settings of a section. Raises GitFailed for a configuration file git cannot read."""
    status, out = git_at(place, ["config", "-z", "--get-regexp", rf"^{section}\."], ok=(0, 1))
    values: dict[str, list[str | None]] = {}
    for item in out.split(b"\0")[:-1] if status == 0 else ():
        key, newline, value = item.partition(b"\n")
        values.setdefault(os.fsdecode(key), []).append(os.fsdecode(value) if newline else None)
    return Config(place, values)


def write_local(place: Place, key: str, value: str) -> None:
    """Set a key in the repository's own configuration. Raises GitFailed (a bad key, a locked file, several values)."""
    git_at(place, ["config", "--local", key, value])


def unset_local(place: Place, key: str) -> bool:
    """Remove all values of a key from the repository's own configuration; return whether there were any."""
    status, _ = git_at(place, ["config", "--local", "--unset-all", key], ok=(0, 5))
    return status == 0


def truth(value: str) -> bool | None:
    """Return what git takes a truth value for; None for what is none."""
    if value.lower() in TRUE:
        return True
    if value.lower() in FALSE:
        return False
    number = _number(value)
    return None if number is None else number != 0


def _normal(key: str) -> str:
    """Lower the parts whose case does not count: before the first dot and after the last."""
    first, dot, rest = key.partition(".")
    middle, last_dot, last = rest.rpartition(".")
    return first.lower() + dot + middle + last_dot + last.lower()


def _number(value: str) -> int | None:
    digits, unit = value.strip(), 1
    if digits[-1:].lower() in UNITS:
        unit = UNITS[digits[-1].lower()]
        digits = digits[:-1]
    unsigned = digits[1:] if digits[:1] in "+-" else digits
    return int(digits) * unit if unsigned.isascii() and unsigned.isdigit() else None
