"""Completion for bash, zsh and fish, made of the parsers. setup.py writes the files when the package is built.

What is only known at run time is looked up by the shell itself, with git alone: docids are names of files, kbids names in the
pool's tree, chunk ids lines of one manifest. Starting Python for each TAB would be felt.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

# setup.py runs before the package is installed.
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from git_kb.cli.main import COMMANDS, PORCELAIN, command_module, command_parser

# What stands for itself on the command line: revs, files, documents (docids and files), kbids, ids (all that names a section or a
# document), states (revs and documents). Verbs that are not here take words.
POSITIONAL = {
    "ingest": "files",
    "show": "ids",
    "recall": "ids",
    "blame": "ids",
    "log": "documents",
    "diff": "states",
    "ls-sections": "documents",
    "cat-section": "kbids",
    "hash-section": "files",
    "chunk": "files",
    "tokens": "files",
    "textconv": "files",
}
# By the name that the help gives a value.
VALUES = {"REV": "revs", "FILE": "files", "DIR": "files", "PATH": "files"}
GLOBAL = {"-C": "files", "--git-dir": "files", "--work-tree": "files"}
DESCRIPTION = "a searchable, citable knowledge base inside any git repository"


class Option(NamedTuple):
    """One option: its names, what it says of itself, its value: None for a switch, else "" (anything), a kind or "words a b"."""

    names: tuple[str, ...]
    help: str
    value: str | None
    is_optional: bool


def options_of(verb: str) -> list[Option]:
    """Return the options of a verb that its help lists."""
    options = []
    for action in command_parser(verb, command_module(verb))._actions:
        if not action.option_strings or action.help == argparse.SUPPRESS:
            continue
        value = None
        if action.nargs != 0:
            value = f"words {' '.join(map(str, action.choices))}" if action.choices else VALUES.get(str(action.metavar), "")
        text = (action.help or "").replace("%%", "%")
        options.append(Option(tuple(action.option_strings), text, value, action.nargs == "?"))
    return options


def files() -> dict[str, str]:
    """Return path below `share` -> text of all completion files."""
    return {
        "bash-completion/completions/git-kb": bash(),
        "zsh/site-functions/_git-kb": zsh(),
        "fish/vendor_completions.d/git-kb.fish": fish(),
    }


def bash() -> str:
    """Return the file that bash-completion loads for `git-kb`, and git's own completion, by way of it, for `git kb`."""
    verbs = " ".join(COMMANDS)
    options, values, positional = [], [], []
    for verb in COMMANDS:
        found = options_of(verb)
        options.append(f"    {verb}) echo {_quoted(' '.join(n for o in found for n in o.names))} ;;")
        for option in found:
            if option.value is not None:
                # Where the value may be missing, only the stuck form has one.
                names = [f'"{verb} {name}{"=" * option.is_optional}"' for name in option.names]
                values.append(f"    {'|'.join(names)}) echo {_quoted(option.value or 'anything')} ;;")
        if verb in POSITIONAL:
            positional.append(f"    {verb}) echo {POSITIONAL[verb]} ;;")
    return _BASH % {
        "verbs": verbs,
        "porcelain": " ".join(PORCELAIN),
        "options": "\n".join(options),
        "values": "\n".join(values),
        "positional": "\n".join(positional),
    }


def zsh() -> str:
    """Return `_git-kb`, which zsh calls for `git-kb`, and its `_git` for `git kb`."""
    verbs = "\n".join(f"    {_quoted(f'{verb}:{command_module(verb).SUMMARY}')}" for verb in COMMANDS)
    cases = []
    for verb in COMMANDS:
        specs = [spec for option in options_of(verb) for spec in _zsh_specs(option)]
        if verb in POSITIONAL:
            specs.append(_quoted(f"*:{POSITIONAL[verb]}:__git_kb_{POSITIONAL[verb]}"))
        else:
            specs.append(_quoted("*: : "))
        lines = " \\\n            ".join(specs)
        cases.append(f"        ({verb})\n          _arguments -s -S \\\n            {lines}\n          ;;")
    return _ZSH % {"description": DESCRIPTION, "verbs": verbs, "cases": "\n".join(cases)}


def _zsh_specs(option: Option) -> Iterator[str]:
    text = option.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    for name in option.names:
        if option.value is None:
            yield _quoted(f"{name}[{text}]")
            continue
        kind, _, words = option.value.partition(" ")
        action = f"({words})" if kind == "words" else f"__git_kb_{kind}" if kind else " "
        colons = "::" if option.is_optional else ":"
        stuck = "=-" if option.is_optional else "=" if name.startswith("--") else "+"
        yield _quoted(f"{name}{stuck}[{text}]{colons}{kind or 'value'}:{action}")


def fish() -> str:
    """Return `git-kb.fish`. Fish's completion of git may take it for `git kb`, too (that of fish 3.6.0 does not)."""
    lines = []
    for verb in COMMANDS:
        lines.append(f"complete -c git-kb -n __git_kb_needs_verb -f -a {verb} -d {_fish_quoted(command_module(verb).SUMMARY)}")
    for verb in COMMANDS:
        head = f"complete -c git-kb -n '__git_kb_verb_is {verb}'"
        for option in options_of(verb):
            words = [f"-{'l' if name.startswith('--') else 's'} {name.lstrip('-')}" for name in option.names]
            if option.value is not None and not option.is_optional:
                words.append("-r" if option.value == "files" else "-x")
            if option.value and option.value != "files":
                kind, _, choices = option.value.partition(" ")
                words.append(f"-a {_fish_quoted(choices or f'(__git_kb_{kind})')}")
            lines.append(f"{head} {' '.join(words)} -d {_fish_quoted(option.help)}")
        kind = POSITIONAL.get(verb, "")
        if kind and kind not in ("files",):
            lines.append(f"{head} {'-f ' if kind == 'kbids' else ''}-a '(__git_kb_{kind})'")
        elif not kind:
            lines.append(f"{head} -f")
    return _FISH % {"lines": "\n".join(lines), "verbs": " ".join(COMMANDS)}


def _quoted(text: str) -> str:
    """Return text in single quotes, as POSIX shells have them."""
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_BASH = r"""# bash completion for git kb and git-kb. Made of the parsers when git-kb was built (git_kb/cli/completion.py).

__git_kb_options() {
    case $1 in
%(options)s
    esac
}

__git_kb_value() {
    case $1 in
%(values)s
    esac
}

__git_kb_positional() {
    case $1 in
%(positional)s
    esac
}

# Documents are files of kb/documents; nothing but git is started.
__git_kb_documents() {
    local top file
    top=$(git "${__git_kb_where[@]}" rev-parse --show-toplevel 2>/dev/null) || return
    for file in "$top/kb/documents/$1"*.toml; do
        [ -f "$file" ] || continue
        file=${file##*/}
        printf '%%s\n' "${file%%.toml}"
    done
}

__git_kb_chunks() {
    local top
    top=$(git "${__git_kb_where[@]}" rev-parse --show-toplevel 2>/dev/null) || return
    sed -n 's/^chunk = "\(c-[0-9a-f-]*\)"$/\1/p' "$top/kb/documents/$1.toml" 2>/dev/null | while read -r chunk; do
        printf '%%s#%%s\n' "$1" "$chunk"
    done
}

# The pool's tree has a directory for the first two characters.
__git_kb_kbids() {
    case $1 in
    [a-z2-7][a-z2-7]*) ;;
    *) return ;;
    esac
    git "${__git_kb_where[@]}" ls-tree --name-only refs/kb/sections -- "${1:0:2}/" 2>/dev/null | tr -d /
}

__git_kb_revs() {
    printf '%%s\n' HEAD
    git "${__git_kb_where[@]}" for-each-ref --format='%%(refname:short)' refs/heads refs/tags refs/remotes 2>/dev/null
}

# $1: what to complete it as, $2: what was typed of it.
__git_kb_reply() {
    local IFS=$'\n' candidates=
    case $1 in
    words\ *) IFS=' ' candidates=$(printf '%%s\n' ${1#words }) ;;
    revs) candidates=$(__git_kb_revs) ;;
    kbids) candidates=$(__git_kb_kbids "$2") ;;
    documents) candidates=$(__git_kb_documents "$2") ;;
    states) candidates=$(__git_kb_revs; __git_kb_documents "$2") ;;
    ids)
        case $2 in
        *#*) candidates=$(__git_kb_chunks "${2%%%%#*}") ;;
        *) candidates=$(__git_kb_documents "$2"; __git_kb_kbids "$2") ;;
        esac ;;
    esac
    IFS=$'\n'
    local candidate
    COMPREPLY=()
    for candidate in $candidates; do
        case $candidate in
        "$2"*) COMPREPLY+=("$candidate") ;;
        esac
    done
    case $1 in
    files|documents|states|ids)
        # What is no file stays as it is: a docid has no slash behind it.
        while read -r candidate; do
            # A file at the top has its own name for a docid.
            [[ $IFS${COMPREPLY[*]}$IFS == *"$IFS$candidate$IFS"* ]] || COMPREPLY+=("$candidate")
        done < <(compgen -f -- "$2")
        compopt -o filenames 2>/dev/null ;;
    esac
}

# Called by git's own completion for "git kb", with words, cword, cur and prev; by __git_kb_main for "git-kb".
_git_kb() {
    local at=1 verb= value= kind=
    local -a __git_kb_where=()
    case ${words[0]##*/} in
    git-kb) ;;
    *)
        while [ $at -lt $cword ] && [ "${words[at]}" != kb ]; do
            [ "${words[at]}" = -C ] && __git_kb_where+=(-C "${words[at+1]}")
            at=$((at + 1))
        done
        at=$((at + 1)) ;;
    esac
    while [ $at -lt $cword ]; do
        case ${words[at]} in
        -C) __git_kb_where+=(-C "${words[at+1]}"); at=$((at + 2)) ;;
        --git-dir|--work-tree) at=$((at + 2)) ;;
        -*) at=$((at + 1)) ;;
        *) verb=${words[at]}; break ;;
        esac
    done
    if [ -z "$verb" ]; then
        case $prev in
        -C|--git-dir|--work-tree) __git_kb_reply files "$cur"; return ;;
        esac
        case $cur in
        -*) __git_kb_reply 'words -C --git-dir --work-tree --version --help' "$cur" ;;
        # Plumbing comes when it is begun.
        ?*) __git_kb_reply 'words %(verbs)s help' "$cur" ;;
        *) __git_kb_reply 'words %(porcelain)s help' "$cur" ;;
        esac
        return
    fi
    if [ "$verb" = help ]; then
        __git_kb_reply 'words %(verbs)s' "$cur"
        return
    fi
    local word separated=
    for word in "${words[@]:at+1:cword-at-1}"; do
        [ "$word" = -- ] && separated=1
    done
    if [ -z "$separated" ]; then
        case $cur in
        --*=*)
            kind=$(__git_kb_value "$verb ${cur%%%%=*}")
            [ -n "$kind" ] || kind=$(__git_kb_value "$verb ${cur%%%%=*}=")
            __git_kb_reply "$kind" "${cur#*=}"
            return ;;
        -*) __git_kb_reply "words $(__git_kb_options "$verb")" "$cur"; return ;;
        esac
        kind=$(__git_kb_value "$verb $prev")
        if [ -n "$kind" ]; then
            __git_kb_reply "$kind" "$cur"
            return
        fi
    fi
    __git_kb_reply "$(__git_kb_positional "$verb")" "$cur"
}

__git_kb_main() {
    local cur prev words cword
    if declare -f _get_comp_words_by_ref >/dev/null; then
        _get_comp_words_by_ref -n =: cur prev words cword
    else
        words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
        cur=${words[cword]} prev=${words[cword-1]}
    fi
    _git_kb
}

complete -o bashdefault -F __git_kb_main git-kb
"""

_ZSH = r"""#compdef git-kb
#description %(description)s
# Made of the parsers when git-kb was built (git_kb/cli/completion.py).

__git_kb_top() {
  git rev-parse --show-toplevel 2>/dev/null
}

__git_kb_revs() {
  local -a revs
  revs=(HEAD ${(f)"$(git for-each-ref --format='%%(refname:short)' refs/heads refs/tags refs/remotes 2>/dev/null)"})
  _describe -t revisions revision revs
}

__git_kb_docids() {
  local -a docids
  docids=($(__git_kb_top)/kb/documents/*.toml(N:t:r))
  compadd -a docids
}

__git_kb_kbids() {
  [[ $PREFIX == [a-z2-7][a-z2-7]* ]] || return 1
  local -a kbids
  kbids=(${${(f)"$(git ls-tree --name-only refs/kb/sections -- ${PREFIX[1,2]}/ 2>/dev/null)"}/\//})
  compadd -a kbids
}

__git_kb_files() {
  _files
}

__git_kb_documents() {
  __git_kb_docids
  _files
}

__git_kb_states() {
  __git_kb_revs
  __git_kb_documents
}

__git_kb_ids() {
  if [[ $PREFIX == *\#* ]]; then
    local docid=${PREFIX%%%%\#*}
    local -a chunks
    chunks=(${(f)"$(sed -n 's/^chunk = "\(c-[0-9a-f-]*\)"$/\1/p' $(__git_kb_top)/kb/documents/$docid.toml 2>/dev/null)"})
    compadd -- $docid\#$^chunks
    return
  fi
  __git_kb_kbids
  __git_kb_documents
}

_git-kb() {
  local curcontext=$curcontext state line ret=1
  local -A opt_args
  local -a verbs
  verbs=(
%(verbs)s
  )
  _arguments -C \
    '-C+[run as if started in this directory]:directory:_directories' \
    '--git-dir=[the repository]:directory:_directories' \
    '--work-tree=[the top of the work tree]:directory:_directories' \
    '--version[print the version]' \
    '1: :->verb' \
    '*:: :->arguments' && ret=0
  case $state in
    (verb)
      _describe -t commands 'command of git kb' verbs && ret=0
      ;;
    (arguments)
      curcontext=${curcontext%%:*:*}:git-kb-$words[1]:
      case $words[1] in
%(cases)s
      esac && ret=0
      ;;
  esac
  return ret
}

_git-kb "$@"
"""

_FISH = r"""# fish completion for git-kb and, where fish's completion of git takes up that of other programs, for git kb.
# Made of the parsers when git-kb was built (git_kb/cli/completion.py).

function __git_kb_verb
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case -C --git-dir --work-tree
                set -e words[1]
            case '-*'
            case '*'
                echo $words[1]
                return
        end
        set -e words[1]
    end
end

function __git_kb_needs_verb
    test -z "$(__git_kb_verb)"
end

function __git_kb_verb_is
    test "$(__git_kb_verb)" = $argv[1]
end

function __git_kb_revs
    echo HEAD
    git for-each-ref --format='%%(refname:short)' refs/heads refs/tags refs/remotes 2>/dev/null
end

function __git_kb_documents
    set -l top (git rev-parse --show-toplevel 2>/dev/null)
    or return
    for file in $top/kb/documents/*.toml
        string replace -r '.*/(.*)\.toml$' '$1' -- $file
    end
end

function __git_kb_kbids
    set -l typed (commandline -ct)
    string match -qr '^[a-z2-7]{2}' -- $typed
    or return
    git ls-tree --name-only refs/kb/sections -- (string sub -l 2 -- $typed)/ 2>/dev/null | string replace / ''
end

function __git_kb_ids
    set -l typed (commandline -ct)
    if string match -q '*#*' -- $typed
        set -l docid (string split '#' -- $typed)[1]
        set -l top (git rev-parse --show-toplevel 2>/dev/null)
        sed -n 's/^chunk = "\(c-[0-9a-f-]*\)"$/\1/p' $top/kb/documents/$docid.toml 2>/dev/null | string replace -r '^' "$docid#"
        return
    end
    __git_kb_documents
    __git_kb_kbids
end

function __git_kb_states
    __git_kb_revs
    __git_kb_documents
end

%(lines)s
complete -c git-kb -n __git_kb_needs_verb -s C -r -d 'run as if started in this directory'
complete -c git-kb -n __git_kb_needs_verb -l git-dir -r -d 'the repository'
complete -c git-kb -n __git_kb_needs_verb -l work-tree -r -d 'the top of the work tree'
complete -c git-kb -n __git_kb_needs_verb -l version -d 'print the version'
complete -c git-kb -n '__git_kb_verb_is help' -f -a '%(verbs)s'
"""
