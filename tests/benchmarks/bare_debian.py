"""The README's two commands on a fresh Debian 12, as debootstrap makes it: seconds and exit codes.

    python tests/benchmarks/bare_debian.py [--root FOLDER] [--smoke]

Needs root, debootstrap and the network. What is mounted for the system in FOLDER vanishes with its process.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.markdown_blocks import blocks

REPOSITORY = Path(__file__).parents[2]
MIRROR = "http://deb.debian.org/debian"
TRUSTED = "/root/certificates.crt"
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


def commands() -> list[str]:
    """The commands that the README says to run on a bare Debian 12."""
    page = blocks(REPOSITORY / "README.md")
    return [block.text.strip() for block in page if (block.word, block.what) == ("runs", "on a bare Debian 12")]


def make(root: Path) -> None:
    """A fresh system with a checkout of this repository in /src, and this machine's way to the package indexes."""
    subprocess.run(
        ["debootstrap", "--variant=minbase", "bookworm", root, MIRROR], check=True, stdout=subprocess.DEVNULL
    )
    subprocess.run(["git", "clone", "--quiet", REPOSITORY, root / "src"], check=True)
    for name in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf"):
        if Path(name).is_file():
            shutil.copy(name, root / name[1:])
    shutil.copy(CERTIFICATES, root / TRUSTED[1:])  # apt writes the system's own file anew


def run(root: Path, command: str) -> tuple[int, float]:
    """Exit code and seconds of a command in the system."""
    environ = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "TERM": "xterm"}
    environ |= dict.fromkeys(("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), TRUSTED)
    environ |= {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    enter = 'mount -t devpts -o newinstance,ptmxmode=0666 none "$0/dev/pts" && exec chroot "$0" bash -c "$1"'
    words = ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={root}/proc", "sh", "-c", enter, str(root)]
    started = time.monotonic()
    done = subprocess.run([*words, f"cd /src && {command}"], env=environ, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout[-3_000:], done.stderr[-3_000:], file=sys.stderr)
    return done.returncode, time.monotonic() - started


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--root", type=Path, help="where the system is made; a temporary folder by default")
    options.add_argument("--smoke", action="store_true", help="only say which commands would run")
    arguments = options.parse_args()
    print(f"{os.cpu_count()} cores\n\n| the README's command | seconds | exit code |\n|---|--:|--:|")
    with tempfile.TemporaryDirectory(prefix="bare-debian-") as folder:
        root = arguments.root or Path(folder) / "root"
        if not arguments.smoke:
            make(root)
        for number, command in enumerate(commands(), start=1):
            code, seconds = (0, 0.0) if arguments.smoke else run(root, command)
            print(f"| {number}: … `{command.rpartition('&& ')[2]}` | {seconds:.0f} | {code} |", flush=True)


if __name__ == "__main__":
    main()
