"""Records for scripts: a format, JSON lines, or NUL-terminated."""

from __future__ import annotations

import argparse
import re

from git_kb.cli.env import Env
from git_kb.cli.parser import BadArguments
from git_kb.output.terminal import visible_line

_FIELD = re.compile(r"\{([^{}]*)\}")


class Records:
    """Writes records as the options say: `--json`, `--format`, `-z`."""

    def __init__(self, env: Env, args: argparse.Namespace):
        self.env, self.json, self.format, self.nul = env, args.json, args.format, args.nul

    def write(self, record: dict[str, object]) -> None:
        """Write one record. Raises BadArguments for a field it does not have."""
        if self.json:
            from git_kb.output.jsontext import json_text

            text = json_text(record)
        else:
            text = _FIELD.sub(lambda m: self._value(record, m[1]), self.format)
        self.env.out.write(text + ("\0" if self.nul else "\n"))

    def _value(self, record: dict[str, object], name: str) -> str:
        if name not in record:
            raise BadArguments(f"no field '{name}'", f"fields: {', '.join(record)}")
        value = record[name]
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        return text if self.nul else visible_line(text)
