"""Root file systems made from the host's own programs: images without a registry."""

import re
import shutil
import subprocess
from pathlib import Path

from tests.support.places import need

PROGRAMS = """
    bash cat chmod cp cut date dash dirname env expr find grep head id ln ls mkdir mkfifo mktemp mv ps pwd readlink rm
    rmdir sed seq setsid sleep sort stat tail touch tr tty uname wc whoami
"""
SYSTEM_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
}
LOCALE = Path("/usr/lib/locale/C.utf8")
TERMINFO = ("/lib/terminfo", "/usr/share/terminfo")


def make_root(folder, *, tmux=True, terminfo=True):
    """bash, dash as sh, the usual tools; as asked: tmux, and descriptions of terminals."""
    root = _skeleton(folder)
    for program in [*PROGRAMS.split(), *(["tmux"] if tmux else [])]:
        add_program(root, program)
    (root / "bin" / "sh").symlink_to("dash")
    shutil.copytree(LOCALE, root / LOCALE.relative_to("/"))
    if terminfo:
        for source in TERMINFO:
            for path in Path(source).glob("[stx]/*"):
                if path.name in {"screen", "screen-256color", "tmux", "tmux-256color", "xterm", "xterm-256color"}:
                    target = root / path.relative_to("/")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, target)
    return root


def make_busybox_root(folder):
    """busybox and nothing else."""
    root = _skeleton(folder)
    busybox = root / "bin" / "busybox"
    shutil.copy(need("busybox", "busybox-static"), busybox)
    for name in subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True).stdout.split():
        if name != "busybox":
            (root / "bin" / name).symlink_to("busybox")
    return root


def add_program(root, name, target=None):
    """Copy a program of the host and the libraries that it is linked to."""
    path = Path(need(name, name))
    target = root / (target or f"bin/{name}")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, target)
    libraries = subprocess.run(["ldd", path], check=False, capture_output=True, text=True).stdout
    for library in re.findall(r"(/\S+)", libraries):
        copy = root / library.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists():
            shutil.copy(library, copy)


def _skeleton(folder):
    root = Path(folder)
    for name in ("bin", "dev", "etc", "lib", "proc", "root", "sys", "tmp", "usr/bin", "var/tmp"):
        (root / name).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    for name, text in SYSTEM_FILES.items():
        (root / name).write_text(text)
    return root
