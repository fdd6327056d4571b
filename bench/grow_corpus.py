"""Make a larger corpus of a smaller one: copies of its Markdown in which every section is edited a little.

    grow_corpus.py FROM TO --copies 5

Copy 0 is as it was. In copy k, a line below each heading names the copy and the section, and one paragraph in three loses its
last word: no two sections are equal, and terms are spread as in the original, but for the few new ones.
"""

import argparse
import os
import re

HEADING = re.compile(r"^(#{1,6} .*)$", re.M)
LAST_WORD = re.compile(r" \w+([.!?]\n\n)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--copies", type=int, default=5)
    args = parser.parse_args()
    n_files = 0
    for directory, folders, names in os.walk(args.source):
        folders[:] = [f for f in folders if not f.startswith(".") and f != "kb"]
        for name in names:
            if name.endswith(".md"):
                path = os.path.join(directory, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    text = file.read()
                for copy in range(args.copies):
                    write(os.path.join(args.target, f"copy{copy}", os.path.relpath(path, args.source)), edited(text, copy))
                n_files += args.copies
    print(f"{n_files} files")


def edited(text, copy):
    """Return the text of a copy."""
    if not copy:
        return text
    count = iter(range(1_000_000))
    text = HEADING.sub(lambda m: f"{m[1]}\n\nEdition {copy}, part {next(count)}.\n", text)
    return LAST_WORD.sub(lambda m: m[1] if next(count) % 3 == copy % 3 else m[0], text)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
