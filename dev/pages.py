"""Hold every page of every simulated machine, by one build, against those of another.

usage: pages.py OLD NEW

Moving code must not change what people read. Pages are printed live, and shown by NEW from a record that OLD wrote
and the other way around; the first line that differs is told.
"""

import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

MACHINES = """1c 4c laptop container 2s-28c 2s-56c guide icelake sapphire sapphire-dimm sapphire-locked granite epyc sierra
    vm-2c""".split()
# Those that write a record, and those that only read.
MEASURE = [
    "sheet --budget 20s",
    "turbo --budget 4s",
    "turbo --why --budget 4s",
    "turbo --trace scalar_iadd,avx256_fma",
    "turbo --sustain 2s",
    "turbo --neighbours --budget 4s",
    "memory --budget 4s",
    "memory latency --budget 4s",
    "memory sweep --budget 4s",
    "memory loaded --budget 4s",
    "memory numa --budget 4s",
    "memory scaling --budget 4s",
    "cores --budget 4s",
    "pause --budget 4s",
    "wake --budget 4s",
    "wake idle --budget 4s",
    "wake timer --budget 4s",
    "openmp --budget 4s",
    "wait --budget 4s",
    "top -n 3",
    "gate --min turbo.clock=1MHz --budget 4s",
]
READ = ["info -v", "doctor -v", "settings", "sst info", "sst perf-profile info", "sheet --dry-run"]


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    return f"{done.stdout}{done.stderr}exit {done.returncode}\n"


def timeless(text):
    """The time of day is no part of a page."""
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)


def main(old, new):
    pages = faults = 0

    def same(what, before, after):
        nonlocal pages, faults
        pages += 1
        before, after = (timeless(text).splitlines() for text in (before, after))
        if before != after:
            faults += 1
            print(f"DIFFERS {what}")
            lines = difflib.unified_diff(before, after, lineterm="", n=0)
            print("".join(f"    {line[:200]}\n" for line in list(lines)[2:12]), end="")

    with tempfile.TemporaryDirectory() as folder:
        records = [str(pathlib.Path(folder, name)) for name in ("old.json", "new.json")]
        for machine in (f"sim:{name}" for name in MACHINES):
            for command in READ:
                words = (*command.split(), "--machine", machine)
                same(f"{command} {machine}", run(old, *words), run(new, *words))
            for command in MEASURE:
                words = (*command.split(), "--machine", machine, "--json")
                said = [run(by, *words, path) for by, path in zip((old, new), records)]
                same(f"{command} {machine}", *(text.replace("old.json", "new.json") for text in said))
                if not all(pathlib.Path(path).exists() for path in records):
                    continue
                for width in ("60", "140"):
                    show = ("show", records[0], "-v", "--width", width)
                    same(f"show -v, {width}: {command} {machine}", run(old, *show), run(new, *show))
                back = [run(new, "show", path, "--format", "html") for path in records]
                links = re.compile(r'href="data:[^"]*"')
                same(f"html: {command} {machine}", *(links.sub("", text) for text in back))
                for path in records:
                    pathlib.Path(path).unlink()
    print(f"{pages} pages, {faults} differ")
    return faults > 0


sys.exit(main(*sys.argv[1:3]))
