"""Types by name and content; Git LFS pointers."""

import pytest

from git_kb.text.code import LANGUAGES
from git_kb.text.mime import describe_type, guess_type, is_code, is_convertible, is_lfs_pointer, is_text

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12\n"


@pytest.mark.parametrize(
    ("path", "data", "type"),
    [
        ("docs/a.md", b"# x", "text/markdown"),
        ("A.MARKDOWN", b"", "text/markdown"),
        ("a.mdx", b"", "text/markdown"),
        ("a.rst", b"", "text/x-rst"),
        ("a.py", b"", "text/x-python"),
        ("a.d.ts", b"", "text/x-typescript"),
        ("a.h", b"", "text/x-c"),
        ("a.json", b"", "application/json"),
        ("Makefile", b"", "text/x-makefile"),
        ("x/CMakeLists.txt", b"", "text/x-cmake"),
        (".env", b"", "text/x-ini"),
        (".md", b"", "text/markdown"),
        ("README", b"hello", "text/plain"),
        ("README", b"\0\1", "application/octet-stream"),
        ("run", b"#!/usr/bin/env -S python3\n", "text/x-python"),
        ("run", b"#!/bin/sh\n", "text/x-shellscript"),
        ("run", b"#!/usr/bin/env node\n", "text/javascript"),
        ("run", b"#!/opt/own\n", "text/plain"),
        ("a.md", b"%PDF-1.7", "application/pdf"),
        ("a.pdf", b"junk\n%PDF-1.7", "application/pdf"),
        ("a.pdf", b"<html>", "application/pdf"),
        ("a.docx", b"PK\x03\x04", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (
            "a",
            b"PK\x03\x04..[Content_Types].xml..word/document.xml",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        ("a", b"PK\x03\x04....mimetypeapplication/epub+zip", "application/epub+zip"),
        ("a.txt", b"PK\x03\x04", "application/zip"),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/msword"),
        ("a", b"RIFF....WEBP", "image/webp"),
        ("a.png", b"", "image/png"),
        ("a.svg", b"<svg/>", "image/svg+xml"),
    ],
)
def test_guess_type(path, data, type):
    assert guess_type(path, data) == type


def test_code_types_are_those_with_a_grammar():
    assert {t for t in LANGUAGES if is_code(t)} == set(LANGUAGES)
    assert not is_code("text/x-lua")


def test_kinds_of_types():
    assert is_text("text/x-lua")
    assert is_text("application/json")
    assert is_text("image/svg+xml")
    assert not is_text("image/png")
    assert not is_text("application/x-ipynb+json")
    assert is_convertible("application/pdf")
    assert describe_type("application/pdf") == "PDF"
    assert describe_type("image/png") == "image/png"


@pytest.mark.parametrize(
    "data",
    [
        POINTER,
        POINTER.replace(b"\n", b"\r\n"),
        POINTER.rstrip(),
        POINTER.replace(b"oid", b"ext-0-foo sha256:" + b"b" * 64 + b"\noid"),
        b"version https://git-lfs.github.com/spec/v1\n<<<<<<< HEAD\noid sha256:"
        + b"a" * 64
        + b"\n=======\noid sha256:"
        + b"b" * 64
        + b"\n>>>>>>> x\nsize 1\n",
    ],
)
def test_lfs_pointers(data):
    assert is_lfs_pointer(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"# LFS\n\n" + POINTER,
        POINTER + b"and text\n",
        POINTER.replace(b"oid", b"old"),
        b"```\n" + POINTER + b"```\n",
        POINTER * 30,
    ],
)
def test_pages_about_pointers_are_none(data):
    assert not is_lfs_pointer(data)
