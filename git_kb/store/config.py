"""`kb.config.json`.

what a team agrees on. Tracked, so untrusted: nothing in it can start a program or leave the repository.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from git_kb.errors import KbError
from git_kb.model.document import ENGLISH, is_language
from git_kb.store.root import CONFIG

DEFAULT_INCLUDE = (
    "**/*.md", "**/*.markdown", "**/*.mdx", "**/*.rst", "**/*.txt", "**/*.adoc", "**/*.org", "**/*.html",
    "**/*.py", "**/*.pyi", "**/*.js", "**/*.mjs", "**/*.jsx", "**/*.ts", "**/*.tsx", "**/*.go", "**/*.rs", "**/*.java", "**/*.c",
    "**/*.h", "**/*.cc", "**/*.cpp", "**/*.hpp", "**/*.cs", "**/*.rb", "**/*.sh", "**/*.php", "**/*.sql", "**/Makefile",
    "**/*.json", "**/*.yaml", "**/*.yml", "**/*.toml", "**/*.csv",
)  # fmt: skip
DEFAULT_EXCLUDE = (
    "kb/**", "kb.config.json", "node_modules/**", "**/node_modules/**", "dist/**", "**/.git/**", "**/*.min.js", "**/*.map",
    "**/package-lock.json", "**/yarn.lock", "**/*.lock", "**/.env", "**/.env.*",
)  # fmt: skip


class BadConfig(KbError):
    """`kb.config.json` cannot be used. `key` is the dotted key, or "" for the whole file."""

    hint = "see the table of keys in docs/config.md; moved away, 'git kb init' writes a fresh one"

    def __init__(self, key: str, why: str):
        self.key, self.why = key, why
        super().__init__(f"'{CONFIG}': {key + ' ' if key else ''}{why}")

    @classmethod
    def unreadable(cls, error: OSError) -> BadConfig:
        """Return the error for a file that cannot be read, or something else in its place. A link would lead elsewhere."""
        return cls("", f"cannot be read: {(error.strerror or str(error)).lower()}")


@dataclass(frozen=True, slots=True)
class Config:
    """The keys this version uses. Sizes in bytes. Unknown keys are left alone."""

    name: str = ""
    include: tuple[str, ...] = DEFAULT_INCLUDE
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    max_file_bytes: int = 20_000_000
    chunk_target: int = 4000
    chunk_ceiling: int = 8000
    language: str = ENGLISH
    detect_language: bool = True
    # Numbers of the ranking that differ from the defaults, by the names of search.score.Parameters.values.
    ranking: dict[str, float] = field(default_factory=dict)
    unknown: tuple[str, ...] = field(default=())


# Dotted key in the file -> (attribute, kind). Numbers carry their smallest and largest value.
_KEYS: dict[str, tuple[str, Any]] = {
    "name": ("name", str),
    "sources.include": ("include", list),
    "sources.exclude": ("exclude", list),
    "sources.max_file_bytes": ("max_file_bytes", (1, 1 << 40)),
    "chunk.target": ("chunk_target", (200, 1 << 20)),
    "chunk.ceiling": ("chunk_ceiling", (400, 1 << 21)),
    "language.default": ("language", is_language),
    "language.detect": ("detect_language", bool),
}
# Name below `ranking` -> the largest value; the smallest is 0.
RANKING = {
    "k1": 1e6,
    "weights.heading": 1e6, "weights.body": 1e6, "weights.code": 1e6,
    "b.heading": 1.0, "b.body": 1.0, "b.code": 1.0,
    "proximity": 1.0,
    "zone": 1.0,
}  # fmt: skip


def default_config_text(name: str) -> str:
    """Return the text `init` writes: the keys with their defaults, one value a line."""
    config = Config()
    data = {
        "name": name,
        "version": 1,
        "sources": {
            "include": list(config.include),
            "exclude": list(config.exclude),
            "max_file_bytes": config.max_file_bytes,
        },
        "chunk": {"target": config.chunk_target, "ceiling": config.chunk_ceiling},
        "language": {"default": config.language, "detect": config.detect_language},
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def parse_config(data: bytes) -> Config:
    """Return the configuration in a file's bytes. Raises BadConfig."""
    try:
        tree = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as e:
        raise BadConfig("", f"is not JSON: {e}") from None
    if not isinstance(tree, dict):
        raise BadConfig("", "is not a JSON object")
    if isinstance(tree.get("version"), int) and tree["version"] > 1:
        raise BadConfig("version", f"is {tree['version']}; this git-kb knows 1")
    values: dict[str, Any] = {}
    for key, (attribute, kind) in _KEYS.items():
        value = _value(tree, key)
        if value is not None:
            values[attribute] = _checked(key, value, kind)
    ranking = {}
    for name, largest in RANKING.items():
        value = _value(tree, f"ranking.{name}")
        if value is not None:
            ranking[name] = _checked_number(f"ranking.{name}", value, largest)
    known = {"version", "ranking", *(k.split(".")[0] for k in _KEYS)}
    config = Config(**values, ranking=ranking, unknown=tuple(sorted(tree.keys() - known)))
    if config.chunk_ceiling < config.chunk_target:
        raise BadConfig("chunk.ceiling", f"is {config.chunk_ceiling}, less than chunk.target ({config.chunk_target})")
    return config


def _value(tree: Any, key: str) -> Any:
    """Return what stands at a dotted key, None without it. Raises BadConfig."""
    value = tree
    for part in key.split("."):
        if not isinstance(value, dict):
            raise BadConfig(key.rpartition(".")[0], "is not an object")
        value = value.get(part)
        if value is None:
            break
    return value


def _checked_number(key: str, value: Any, largest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= largest:
        raise BadConfig(key, f"is not a number from 0 to {largest:g}")
    return float(value)


def _checked(key: str, value: Any, kind: Any) -> Any:
    if kind is is_language:
        if not isinstance(value, str) or not is_language(value):
            raise BadConfig(key, "is not a language code of two or three small letters, such as 'en'")
        return value
    if kind is bool:
        if not isinstance(value, bool):
            raise BadConfig(key, "is neither true nor false")
        return value
    if kind is str:
        if not isinstance(value, str):
            raise BadConfig(key, "is not a string")
        return value
    if kind is list:
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise BadConfig(key, "is not an array of strings")
        return tuple(value)
    low, high = kind
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise BadConfig(key, f"is not an integer from {low} to {high}")
    return value
