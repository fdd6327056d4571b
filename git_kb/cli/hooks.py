"""git kb hooks: install, remove, examine and run git hooks.

install writes five small scripts where git looks for hooks (core.hooksPath counts): pre-commit says which staged sources have a
manifest of another version and stops a commit of damaged manifests; post-commit, post-merge, post-checkout and post-rewrite
bring the index up to date in the background. A hook that is there is kept byte for byte as <name>.kb-prev and run first. Where
a hook manager (pre-commit, husky, lefthook) or a directory outside of the repository has the hooks, nothing is written; what to
put there is printed, and the exit status is 1. uninstall brings back what was there. status tells whether git will run each of
them in this work tree, and ends with 1 when it will not. run does what a hook does: for hook managers, and to try it.
No hook ever stages or commits. git config kb.hookStrict true: whatever pre-commit finds stops the commit, and so does a git-kb
that is missing. git config kb.autoIngest true: after a commit, merge or rebase the manifests of changed sources are written
anew into the work tree. docs/hooks.md has the rest.
"""

from __future__ import annotations

import argparse
import os

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from git_kb.hooks.check import Report
    from git_kb.hooks.install import Hook, Step
    from git_kb.hooks.place import ConfigHook, HooksPath
    from git_kb.repo.discover import Place

SUMMARY = "install, remove, examine and run git hooks"
ACTIONS = ("install", "uninstall", "status", "run")
# Longer lists of sources are cut: the hook's message is to be read.
MAX_NAMED = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import number

    parser.add_argument("action", help=f"one of {', '.join(ACTIONS)}")
    parser.add_argument(
        "name", nargs="?", default="", help="of run: pre-commit, post-commit, post-merge, post-checkout or post-rewrite"
    )
    parser.add_argument("argument", nargs="*", help="of run: what git gives to the hook")
    parser.add_argument(
        "-n", "--dry-run", action="store_true", help="of install and uninstall: say what would be done, write nothing"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors and warnings")
    parser.add_argument("--json", action="store_true", help="of status: one JSON document")
    parser.add_argument(
        "--stop-code",
        type=number,
        default=1,
        metavar="N",
        help="of run: the exit status that stops a commit, instead of 1 (1 to 125)",
    )


def prepare(arguments: list[str]) -> list[str]:
    """Put the options first: argparse takes no words on both sides of one. What git gives to a hook never looks like an option."""
    options: list[str] = []
    words: list[str] = []
    rest = list(arguments)
    while rest and rest[0] != "--":
        word = rest.pop(0)
        if not word.startswith("-") or word == "-":
            words.append(word)
        else:
            options.append(word)
            if word == "--stop-code" and rest:
                options.append(rest.pop(0))
    return options + words + rest


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.parser import BadArguments
    from git_kb.hooks.script import HOOKS
    from git_kb.repo.discover import NeedsWorkTree

    if args.action not in ACTIONS:
        raise BadArguments(f"unknown action '{args.action}'", f"one of {', '.join(ACTIONS)}")
    if args.action != "run" and args.name:
        raise BadArguments(f"unexpected argument '{args.name}'")
    if args.action == "run" and args.name not in HOOKS:
        raise BadArguments(
            f"unknown hook '{args.name}'" if args.name else "'run' needs the name of a hook", f"one of {', '.join(HOOKS)}"
        )
    if not 0 < args.stop_code < 126:
        raise BadArguments(f"--stop-code {args.stop_code} is out of range: 1 to 125")
    env.quiet = args.quiet
    if env.place.work_tree is None:
        raise NeedsWorkTree(env.place.git_dir)
    if args.action == "run":
        return _pre_commit(env, args.stop_code) if args.name == "pre-commit" else _post(env, args.name, args.argument)
    return {"install": _install, "uninstall": _uninstall, "status": _status}[args.action](args, env)


def _install(args: argparse.Namespace, env: Env) -> int:
    from git_kb.hooks.install import look, plan_install
    from git_kb.hooks.managers import find_manager, plain_snippet
    from git_kb.hooks.place import config_hooks, hooks_path

    where = hooks_path(env.place)
    manager = find_manager(env.place.work_tree or "", where.directory)
    if manager is not None:
        env.err.write(f"error: {manager.name} manages the hooks of this repository ({manager.because}); nothing was written\n")
        env.out.write(manager.snippet)
        return 1
    if not where.inside:
        by = f" (core.hooksPath: {where.set_by})" if where.set_by else ""
        env.err.write(f"error: git looks for hooks outside of this repository, in '{where.directory}'{by}; nothing was written\n")
        env.out.write(plain_snippet(where.directory))
        return 1
    steps = plan_install(look(where))
    _carry_out(args, env, steps, where, "installed already")
    for hook in _ours(config_hooks(env.place)):
        env.warn(f"git's configuration has the hook '{hook.name}' that runs git-kb too: with git 2.54 or later, both run")
    return 0


def _uninstall(args: argparse.Namespace, env: Env) -> int:
    from git_kb.hooks.install import look, plan_uninstall
    from git_kb.hooks.place import hooks_path

    where = hooks_path(env.place)
    hooks = look(where)
    _carry_out(args, env, plan_uninstall(hooks), where, "not installed")
    for hook in hooks:
        if hook.content in ("foreign", "calls-us") and hook.previous != "absent":
            env.warn(f"'{hook.path}' is not of git-kb; what was there before it stays in '{hook.name}.kb-prev'")
    return 0


def _carry_out(args: argparse.Namespace, env: Env, steps: list[Step], where: HooksPath, nothing: str) -> None:
    from git_kb.hooks.install import carry_out

    said = {
        "write": "write {0}",
        "update": "update {0}",
        "chain": "write {0}, and keep the hook that is there as {0}.kb-prev, to run first",
        "remove": "remove {0}",
        "restore": "remove {0}, and bring back the hook that was there before",
    }
    done = [s for s in steps if s.action != "none"] if args.dry_run else list(carry_out(steps))
    for step in done:
        env.note(f"{'would ' if args.dry_run else ''}{said[step.action].format(step.hook.name)}")
    for step in steps:
        if step.action == "none" and step.hook.content == "calls-us":
            env.note(f"left {step.hook.name} as it is: it runs git-kb itself")
    env.note(f"hooks in {where.directory}" + ("" if done else f": {nothing}"))


def _status(args: argparse.Namespace, env: Env) -> int:
    from git_kb.hooks.install import look
    from git_kb.hooks.managers import find_manager
    from git_kb.hooks.place import config_hooks, hooks_path, runs_config_hooks

    where = hooks_path(env.place)
    configured = config_hooks(env.place)
    counts = bool(configured) and runs_config_hooks(env.place)
    from_config = {event for hook in _ours(configured) if counts for event in hook.events}
    program = _program(env)
    manager = find_manager(env.place.work_tree or "", where.directory)
    hooks = look(where)
    managed = dict.fromkeys(manager.runs, manager.name) if manager else {}
    states = {hook.name: _hook_state(hook, managed.get(hook.name, ""), hook.name in from_config, bool(program)) for hook in hooks}
    if args.json:
        from git_kb.output.jsontext import json_text

        data = {
            "directory": where.directory,
            "inside_repository": where.inside,
            "hooks_path_set_by": where.set_by,
            "program": program,
            "manager": manager.name if manager else "",
            "hooks": [
                {
                    "name": h.name,
                    "runs": states[h.name][0],
                    "state": states[h.name][1],
                    "content": h.content,
                    "previous": h.previous,
                }
                for h in hooks
            ],
            "config_hooks": [
                {"name": h.name, "events": list(h.events), "command": h.command, "enabled": h.enabled, "runs": counts and h.enabled}
                for h in configured
            ],
        }
        env.out.write(json_text(data, indent=1) + "\n")
    else:
        from git_kb.output.terminal import visible

        by = f" (core.hooksPath: {where.set_by})" if where.set_by else ""
        lines = [f"hooks of '{env.place.work_tree}', in '{where.directory}'{by}"]
        lines += [f"  {hook.name:14} {states[hook.name][1]}" for hook in hooks]
        env.out.write(visible("\n".join(lines)) + "\n")
        if not program:
            env.warn("the program 'git-kb' is not on PATH: the hooks say so and do nothing")
        if manager:
            env.note(f"{manager.name} manages the hooks here ({manager.because}); 'git kb hooks install' prints what to put there")
        for hook in configured:
            env.warn(_config_hook_warning(hook, counts, hooks))
    return 0 if all(runs for runs, _ in states.values()) else 1


def _hook_state(hook: Hook, manager: str, from_config: bool, has_program: bool) -> tuple[bool, str]:
    """Return (does git run us by it, the same in words). manager: the one that is told to run us in this hook, "" without."""
    first = {"runs": f", after {hook.name}.kb-prev", "ignored": f"; {hook.name}.kb-prev is not executable, so it is left out"}
    also = "; git's configuration runs git-kb once more" if from_config else ""
    if hook.content in ("ours", "old", "edited", "calls-us"):
        if not hook.executable:
            return from_config, "not run: the file is not executable" + also
        words = {
            "ours": "runs",
            "old": "runs, a version of another git-kb ('git kb hooks install' updates it)",
            "edited": "runs, changed by hand",
            "calls-us": "runs, by a hook of yours",
        }
        text = words[hook.content] + first.get(hook.previous, "") + also
        return has_program, text if has_program else f"does nothing without git-kb; {text}"
    if manager and hook.content == "foreign" and hook.executable:
        return has_program, f"runs, by {manager}"
    if from_config:
        return has_program, "runs, by git's configuration"
    if manager and hook.content == "absent":
        return False, f"not run: {manager} is told to, and has not installed its hook"
    return False, "another hook is there, which does not run git-kb" if hook.content == "foreign" else "not installed"


def _config_hook_warning(hook: ConfigHook, counts: bool, hooks: list[Hook]) -> str:
    what = f"hook '{hook.name}' in git's configuration ('{hook.command}', for {', '.join(hook.events) or 'no event'})"
    if not counts:
        return f"{what} does not run: this git is older than 2.54"
    if not hook.enabled:
        return f"{what} is turned off"
    twice = [h.name for h in hooks if h.name in hook.events and h.executable and h.content != "foreign"]
    if "kb hooks run" in hook.command.replace("git-kb", "git kb") and twice:
        return f"{what} runs git-kb a second time; take it out, or run 'git kb hooks uninstall'"
    return f"{what} runs before the hooks in the directory, whatever core.hooksPath says"


def _ours(configured: Iterable[ConfigHook]) -> list[ConfigHook]:
    return [hook for hook in configured if hook.enabled and "kb hooks run" in hook.command.replace("git-kb", "git kb")]


def _program(env: Env) -> str:
    """Return where a hook finds git-kb, "" when it does not."""
    from shutil import which

    return which("git-kb", path=env.environ.get("PATH", os.defpath)) or ""


def _pre_commit(env: Env, stop_code: int) -> int:
    from git_kb.cli.quickhook import source_test
    from git_kb.hooks.check import check_staged
    from git_kb.hooks.staged import concerns_us, staged_changes
    from git_kb.ingest.patterns import compile_patterns
    from git_kb.repo.config import read_config
    from git_kb.store.config import Config

    changes = staged_changes(env.place)
    if not concerns_us(env.place, changes, source_test):
        return 0

    def wanted(config: Config, path: str) -> bool:
        return compile_patterns(config.include)(path) and not compile_patterns(config.exclude)(path)

    strict = read_config(env.place).get_bool("kb.hookStrict")
    report = check_staged(env.repo, changes, wanted)
    _tell(report, env, strict)
    return stop_code if report.stops(strict) else 0


def _tell(report: Report, env: Env, strict: bool) -> None:
    from git_kb.hooks.check import STOPPING
    from git_kb.output.terminal import visible_line

    for finding in report.findings:
        word = "error" if strict or finding.kind in STOPPING else "warning"
        env.err.write(visible_line(f"{word}: {finding.kind} {finding.entity}: {finding.detail}") + "\n")
    for title, names in (
        ("staged, but their manifests are of another version", report.outdated),
        ("new, and have no manifest", report.missing),
        ("deleted, but their manifests are still there", report.gone),
        ("not staged as their staged manifests have them", report.not_staged),
    ):
        if names:
            env.err.write(f"{'error' if strict else 'warning'}: these sources are {title}:\n")
            env.err.write("".join(f"\t{visible_line(name)}\n" for name in names[:MAX_NAMED]))
            if len(names) > MAX_NAMED:
                env.err.write(f"\tand {len(names) - MAX_NAMED} more\n")
    if report.n_unchecked:
        were = "manifests were" if report.n_unchecked > 1 else "manifest was"
        env.warn(f"{report.n_unchecked} more staged {were} not looked at; 'git kb fsck --cached' looks at all")
    if report and env.environ.get("GIT_ADVICE", "1") not in ("0", "false", "no"):
        for hint in _hints(report, strict):
            env.note(f"hint: {hint}")


def _hints(report: Report, strict: bool) -> list[str]:
    hints = []
    if report.outdated or report.missing:
        hints.append("'git kb ingest <path>...', then 'git add kb', brings the manifests along")
    if report.gone:
        hints.append("'git kb ingest --prune', then 'git add kb', takes their manifests away")
    if report.not_staged:
        hints.append("'git add' the sources too, or 'git kb ingest' them again")
    if any(f.kind in ("damaged_manifest", "wrong_tiling", "wrong_key") for f in report.findings):
        hints.append("'git kb ingest -f <source>', then 'git add kb', makes a manifest again")
    if report.stops(strict):
        hints.append("'git commit --no-verify' commits all the same")
    return hints


def _post(env: Env, name: str, arguments: list[str]) -> int:
    from git_kb.cli.quickhook import ingests_by_itself, wants_warming, warm_in_background

    if not wants_warming(env.place, name, arguments):
        return 0
    if name != "post-checkout" and ingests_by_itself(env.place):
        _ingest_changed(env, name, arguments)
    warm_in_background(env, env.place)
    return 0


def _ingest_changed(env: Env, name: str, arguments: list[str]) -> None:
    """Write the manifests of sources that the operation changed, and that stand in the work tree as it left them."""
    from git_kb.cli.env import worker_count
    from git_kb.hooks.changed import changed_sources
    from git_kb.ingest.ingest import Options, ingest
    from git_kb.ingest.select import select_sources
    from git_kb.repo.lockfile import Locked
    from git_kb.store.state import check_root, worktree_config

    place = env.place
    check_root(place)
    paths = changed_sources(env.repo, name, arguments)
    if not paths:
        return
    top = _at_top(env)
    config = worktree_config(place)
    warnings: list[str] = []
    try:
        with env.lock("ingest", wait_s=0) as lock:
            selection = select_sources(top, [os.fsdecode(path) for path in paths], config, warnings.append)
            if not selection.work:
                return
            summary = ingest(env.repo, selection, config, Options(jobs=worker_count()), beat=lock.refresh)
    except Locked:
        return  # somebody writes just now; the next commit, or 'git kb status', meets what is left
    n_done = len(summary.changed) + len(summary.new)
    left = f", {len(summary.skipped)} could not be used" if summary.skipped else ""
    if n_done or left:
        env.note(
            f"git-kb: {n_done} changed source{'s' * (n_done != 1)} ingested again (kb.autoIngest){left}; "
            "their manifests in kb/documents are not committed yet"
        )


def _at_top(env: Env) -> Place:
    """Return our place as seen from the top, from which paths of git count."""
    top = env.place.plain()
    top.cwd = top.work_tree or ""
    return top
