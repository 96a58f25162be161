"""What a shell offers where somebody types LINE and presses the key: complete.py SHELL LINE SHARE...

Each SHARE is a folder like /usr/share. The shell has a terminal, and its own functions for completions, which find the
files there. The command itself becomes a function that prints its words, once all that is offered stands in the line.
"""

import os
import pathlib
import pty
import select
import subprocess
import sys
import tempfile
import time

# The most seconds that a shell may take; it is only there so that nothing waits for ever.
LIMIT_S = 60
# Ends what a shell has to print before it is typed to, and encloses what the command prints.
READY, OPENED, CLOSED = "ready-to-type", "offered<", ">offered"
# Inserts all that is offered.
KEY = "\x14"

BASH = """
source /usr/share/bash-completion/bash_completion
bind '"\\C-t": insert-completions'
bind 'set enable-bracketed-paste off'
cpudyno() { printf 'offered<%s>offered\\n' "$*"; exit; }
PS1=ready-to-type
"""

ZSH = """
fpath=(${(s.:.)SITES} $fpath)
autoload -Uz compinit
compinit -u -d $ZDOTDIR/dump
zstyle ':completion:all-matches::::' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert true
zle -C all-matches complete-word _generic
bindkey '^T' all-matches
unsetopt zle_bracketed_paste prompt_cr prompt_sp
cpudyno() { print -r -- "offered<$*>offered"; exit }
PS1=ready-to-type
"""


def typed(command, environment, line):
    """What the command prints once the shell was typed to."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(environment)
        os.execvp(command[0], command)
    seen, is_typed, ends = "", False, time.monotonic() + LIMIT_S
    try:
        while time.monotonic() < ends:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                part = os.read(terminal, 65536)
            except OSError:
                break
            seen += part.decode(errors="replace")
            if not is_typed and READY in seen:
                os.write(terminal, f"{line}{KEY}\r".encode())
                is_typed = True
            if OPENED in seen and CLOSED in seen.split(OPENED, 1)[1]:
                return seen.split(OPENED, 1)[1].split(CLOSED, 1)[0]
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    sys.exit(f"{command[0]} offers nothing; its terminal shows: {seen!r}")


def main():
    shell, line, *shares = sys.argv[1:]
    with tempfile.TemporaryDirectory() as home:
        rows = {"HOME": home, "TERM": "dumb", "LC_ALL": "C.UTF-8", "COLUMNS": "10000", "XDG_DATA_DIRS": ":".join(shares)}
        # Fish completes only commands that are there.
        rows["PATH"] = ":".join([os.environ["PATH"], *(str(pathlib.Path(share).parent / "bin") for share in shares)])
        if shell == "fish":
            shown = subprocess.run(
                ["fish", "--command", f"complete -C '{line}'"],
                env={**os.environ, **rows}, check=True, capture_output=True, text=True,
            )
            print(*(row.split("\t")[0] for row in shown.stdout.splitlines()))
        elif shell == "bash":
            start = pathlib.Path(home, "bashrc")
            start.write_text(BASH)
            print(typed(["bash", "--noprofile", "--rcfile", str(start), "-i"], rows, line))
        elif shell == "zsh":
            pathlib.Path(home, ".zshrc").write_text(ZSH)
            folders = ("zsh/vendor-completions", "zsh/site-functions")
            sites = [str(pathlib.Path(share, folder)) for share in shares for folder in folders]
            print(typed(["zsh", "-i"], {**rows, "ZDOTDIR": home, "SITES": ":".join(sites)}, line))
        else:
            sys.exit(f"{shell} is no shell that is known here")


main()
