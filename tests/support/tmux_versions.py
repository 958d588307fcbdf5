"""tmux as other Debian releases have it: the program with its own libraries, beside the system's."""

import os
import shutil
import subprocess
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path

from tests.support.places import lacking

RELEASES = {"3.1c": "bullseye", "3.3a": "bookworm", "3.5a": "trixie"}
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LIBRARIES = "lib*/*-linux-gnu", "usr/lib/*-linux-gnu"


def installed():
    """Version of the system's own tmux."""
    if shutil.which("tmux") is None:
        return ""
    return subprocess.run(["tmux", "-V"], capture_output=True, text=True, check=True).stdout.split()[-1]


def find(version):
    """Folder with a ``tmux`` of this version, for ``PATH``; fetched once, then kept in the user's cache folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "terminus-tests"
    folder = cache / f"tmux-{version}"
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f"{folder.name}.lock"):
        if not (folder / "bin" / "tmux").exists():
            for program, package in (("apt-get", "apt"), ("dpkg", "dpkg")):
                if shutil.which(program) is None:
                    lacking(f"tmux {version}: there is no {program} to fetch it with ({package} of Debian)")
            if not Path(KEYRING).exists():
                lacking(f"tmux {version}: apt-get install debian-archive-keyring")
            shutil.rmtree(folder, ignore_errors=True)
            try:
                _fetch(RELEASES[version], folder)
            except subprocess.CalledProcessError as error:
                lacking(f"tmux {version} cannot be fetched: {error.output.strip().rpartition(os.linesep)[2]}")
    return folder / "bin"


def _fetch(release, folder):
    """An apt of its own, in which nothing is installed, downloads tmux with all that it needs."""
    apt = folder / "apt"
    for needed in ("preferences.d", "lists/partial", "archives/partial"):
        (apt / needed).mkdir(parents=True)
    (apt / "status").touch()
    source = f"deb [signed-by={KEYRING}] http://deb.debian.org/debian {release} main\n"
    (apt / "sources.list").write_text(source)
    settings = {
        "Dir::Etc": apt,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State": apt,
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt,
        "Acquire::Languages": "none",
        "Acquire::Retries": 3,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    _run("apt-get", "-q", *options, "update")
    _run("apt-get", "-q", "-y", *options, "--download-only", "install", "tmux")
    root = folder / "root"
    for package in sorted(apt.glob("archives/*.deb")):
        _run("dpkg", "-x", package, root)
    libraries = [path for pattern in LIBRARIES for path in root.glob(pattern)]
    loader = next(path for folder in libraries for path in folder.glob("ld-linux*"))
    shutil.rmtree(apt)
    (folder / "bin").mkdir()
    wrapper = folder / "bin" / "wrapper"
    wrapper.write_text(
        f'#!/bin/sh\nexec {loader} --library-path {":".join(map(str, libraries))} {root}/usr/bin/tmux "$@"\n'
    )
    wrapper.chmod(0o755)
    _run(wrapper, "-V")
    wrapper.rename(folder / "bin" / "tmux")


def _run(*words):
    subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)


@contextmanager
def _locked(path):
    """Tests may run in several processes."""
    with path.open("w") as file:
        flock(file, LOCK_EX)
        yield
