"""Real repositories for tests, made and checked with the git program."""

import os
import subprocess

ODD_NAMES = [
    b"plain.md",
    b"with space.md",
    b"new\nline.md",
    b'quo"te.md',
    b"back\\slash.md",
    b"tab\t.md",
    b"cr\r",
    b"-dash.md",
    b":(glob)x.md",
    b"*.md",
    b"\xff\xfe.md",
    "é✓.md".encode(),
    b"dir/sub dir/deep.md",
    b'"quoted"/x.md',
]


def git(*args, cwd, input=b"", check=True, **env):
    """Run git and return its stdout as bytes."""
    done = subprocess.run(["git", *args], cwd=cwd, input=input, capture_output=True, env={**os.environ, **env})
    assert done.returncode == 0 or not check, (args, done.returncode, done.stderr)
    return done.stdout


def line(*args, cwd, **more):
    """Run git and return its stdout as text without the line's end."""
    return os.fsdecode(git(*args, cwd=cwd, **more)).removesuffix("\n")


def init(path, object_format="sha1", *more):
    git("init", "-q", "-b", "main", f"--object-format={object_format}", *more, str(path), cwd="/")
    return str(path)


def write(top, name, data=b"text\n"):
    """Write a file below `top`; `name` is bytes or str."""
    path = os.path.join(os.fsencode(top), os.fsencode(name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    return path


def commit_all(top, message="a commit", **env):
    git("add", "-A", cwd=top)
    git("commit", "-q", "--allow-empty", "-m", message, cwd=top, **env)
    return line("rev-parse", "HEAD", cwd=top)


def fsck(top):
    git("fsck", "--strict", "--no-dangling", cwd=top)
