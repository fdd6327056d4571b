"""Three-way merges of the files below kb/, for `git kb merge-driver`.

Each is a pure function of (base, ours, theirs) and of a way to merge plain text. docs/format-merge.md.
"""
