"""The hook scripts: a few lines of POSIX sh that run what was there before, then `git-kb hooks run`.

The second line names the hook, the version of the script and a digest of all other lines: so a script that somebody has edited is
told from one that an older git-kb wrote, and neither a list of old texts nor a guess is needed.
"""

from __future__ import annotations

import re
from hashlib import sha256

HOOKS = ("pre-commit", "post-commit", "post-merge", "post-checkout", "post-rewrite")
VERSION = 1
# What was there before, kept byte for byte beside its place.
PREVIOUS = ".kb-prev"
# `hooks run` ends with it when the commit should stop: 1 is also the status of an interpreter that cannot find the program's parts.
STOP = 3

# States in the git directory in which post-commit and its like do nothing: each step of a rebase would start a process, and an
# index of a commit that is only passed through is of no use. REBASE_HEAD is not among them: it stays behind.
UNDERWAY = ("rebase-merge", "rebase-apply", "sequencer", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG")

_HEAD = re.compile(rb"#!/bin/sh\n# git-kb hook ([a-z-]+) ([0-9]+) ([0-9a-f]{12})\n")
_ABOUT = "# By 'git kb hooks install'; 'git kb hooks uninstall' brings back what was here before. Do not edit: see docs/hooks.md.\n"

_CHECKING = f"""\
if test -f "$0{PREVIOUS}" && test -x "$0{PREVIOUS}"; then
	"$0{PREVIOUS}" "$@" || exit
fi
test -z "$GIT_KB_HOOK" || exit 0
test -e kb/catalog.toml || git ls-files --error-unmatch kb/catalog.toml >/dev/null 2>&1 || exit 0
# Files that have no manifest, and are not new, are no sources. Where a path is odd, the name of its manifest has a "~".
no_sources() {{
	test -e kb/catalog.toml || return
	for name in kb/documents/*~*; do
		test ! -e "$name" || return
	done
	names=$(git diff-index --cached --no-renames --name-status HEAD -- 2>/dev/null | sed 's,/,--,g')
	while read -r status name; do
		case $status$name in
		[MD]\\"* | [MD]kb--* | [MD]kb.config.json) return 1 ;;
		[MD]?*) test ! -e "kb/documents/$name.toml" || return ;;
		*) return 1 ;;
		esac
	done <<-END
		$names
	END
}}
no_sources && exit 0
if command -v git-kb >/dev/null; then
	GIT_KB_HOOK=@NAME@ git-kb hooks run --stop-code {STOP} @NAME@ "$@"
	case $? in 0) exit 0 ;; {STOP}) exit 1 ;; 130) exit 130 ;; esac
	echo >&2 "git-kb: the commit was not checked"
else
	echo >&2 "git-kb: the program 'git-kb' is not on PATH; the commit was not checked"
fi
test "$(git config --bool kb.hookStrict)" != true
"""
_WARMING = f"""\
status=0
if test -f "$0{PREVIOUS}" && test -x "$0{PREVIOUS}"; then
	"$0{PREVIOUS}" "$@"
	status=$?
fi
test -z "$GIT_KB_HOOK" && test -e kb/catalog.toml || exit $status
@UNDERWAY@command -v git-kb >/dev/null || @MISSING@
@INGEST@@SKIP@GIT_KB_HOOK=@NAME@ git-kb hooks run @NAME@ "$@" </dev/null >/dev/null 2>&1 &
exit $status
"""
_UNDERWAY = f"""\
dir=$(git rev-parse --git-dir) || exit $status
for what in {" ".join(UNDERWAY)}; do
	test ! -e "$dir/$what" || exit $status
done
"""
_INGEST = """\
if test "$(git config --bool kb.autoIngest)" = true; then
	GIT_KB_HOOK=@NAME@ git-kb hooks run @NAME@ "$@" </dev/null
	exit $status
fi
"""
# A commit changes nothing in the work tree. One that has manifests in it may be of some that no search has seen.
_SKIP = """\
git diff-tree --quiet HEAD^ HEAD -- kb/documents 2>/dev/null && exit $status
"""
_MISSING = """{
	echo >&2 "git-kb: the program 'git-kb' is not on PATH; the index was not brought up to date"
	exit $status
}"""


def hook_script(name: str) -> bytes:
    """Return the text of one hook."""
    text = _CHECKING if name == "pre-commit" else _WARMING
    underway = _UNDERWAY
    if name == "post-rewrite":
        # The end of a rebase comes while its state is still there.
        underway = 'if test "$1" != rebase; then\n' + "".join(f"\t{line}\n" for line in _UNDERWAY.splitlines()) + "fi\n"
    parts = {
        "@UNDERWAY@": underway,
        # After a switch, manifests written anew would be in the way of the switch back.
        "@INGEST@": "" if name == "post-checkout" else _INGEST,
        # The pre-commit hook of the same commit has said so.
        "@SKIP@": _SKIP if name == "post-commit" else "",
        "@MISSING@": "exit $status" if name == "post-commit" else _MISSING,
        "@NAME@": name,
    }
    for mark, part in parts.items():
        text = text.replace(mark, part)
    body = (_ABOUT + text).encode()
    return f"#!/bin/sh\n# git-kb hook {name} {VERSION} {_digest(body)}\n".encode() + body


def is_ours(data: bytes, name: str) -> bool:
    """Return whether a file is a script for this hook that some git-kb wrote and nobody changed."""
    head = _HEAD.match(data)
    return head is not None and head[1] == name.encode() and head[3].decode() == _digest(data[head.end() :])


def is_edited(data: bytes, name: str) -> bool:
    """Return whether a file was such a script, and has been changed since."""
    return _HEAD.match(data) is not None and not is_ours(data, name)


def runs_us(data: bytes, name: str) -> bool:
    """Return whether somebody's own hook has the line that calls us, as the snippets for hook managers do."""
    return re.search(rb"^[^#\n]*\bgit[ -]kb hooks run (?:--\S+ )*" + name.encode() + rb"\b", data, re.MULTILINE) is not None


def _digest(body: bytes) -> str:
    return sha256(body).hexdigest()[:12]
