"""The root of the exception tree. Each error lives beside the code that raises it and carries its facts."""

from __future__ import annotations


def shortened(text: str, limit: int = 1000) -> str:
    """Return text, its middle left out where it has more than `limit` characters: what was typed is echoed no longer than that."""
    if len(text) <= limit:
        return text
    n_last = limit // 3
    return f"{text[: limit - n_last - 1]}…{text[-n_last:]}"


class KbError(Exception):
    """A failure the user can act on.

    Printed as "fatal: <message>" ("error: " when `exit_code` is not 128) and, where there is one, "hint: <hint>".
    `exit_code` is the process's exit status: 1 for "the answer is no", 128 for the rest, 129 for misuse.
    """

    exit_code = 128
    hint = ""


class UsageError(KbError):
    """The command line is wrong. Printed as "error: <message>"; `usage`, where it is set, is a line that follows."""

    exit_code = 129
    usage = ""


class NotFound(KbError):
    """What was named does not exist. The answer is no."""

    exit_code = 1


class Damaged(KbError):
    """Stored bytes do not pass their check."""


class NewerFormat(KbError):
    """Written by a later git-kb. `what` names the file, `version` its format number."""

    hint = "upgrade git-kb to read it"

    def __init__(self, what: str, version: object):
        self.what, self.version = what, version
        super().__init__(f"'{what}' has format {version}, which this git-kb does not know")
