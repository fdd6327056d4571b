"""What the tests of hooks do to a knowledge base."""

import os
import subprocess


def hooks_dir(kb):
    return os.path.join(kb.top, kb.git("rev-parse", "--git-path", "hooks"))


def listing(directory):
    """Return name -> (mode, bytes or what a link says) of a directory; empty for one that is not there."""
    found = {}
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
        path = os.path.join(directory, name)
        status = os.lstat(path)
        data = b"link to " + os.fsencode(os.readlink(path)) if os.path.islink(path) else b""
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, "rb") as file:
                data = file.read()
        found[name] = (status.st_mode, data)
    return found


def put_hook(kb, name, text, mode=0o755):
    """Write somebody's own hook."""
    path = os.path.join(hooks_dir(kb), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def damage(kb, name="docs--guide.md"):
    """Stage a manifest that cannot be read."""
    kb.write(f"kb/documents/{name}.toml", b"format = 1\n<<<<<<< ours\n")
    kb.git("add", "kb")


def try_commit(kb, *args, **env):
    """Run `git commit`; return (did it make a commit?, standard error and output)."""
    before = kb.git("rev-parse", "-q", "--verify", "HEAD", check=False)
    done = subprocess.run(
        ["git", "commit", "-m", "x", *args], cwd=kb.top, capture_output=True, text=True, env={**os.environ, **env}
    )
    made = kb.git("rev-parse", "-q", "--verify", "HEAD", check=False) != before
    assert made == (done.returncode == 0), done
    assert "no_such_module" in done.stderr or "Traceback" not in done.stderr
    return made, done.stderr
