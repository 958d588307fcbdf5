"""Disks that are full, or nearly so."""

import resource
import subprocess
from contextlib import ExitStack, contextmanager


@contextmanager
def file_size_limit(size):
    """No file grows beyond ``size`` bytes: writes are short, then they fail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def small_disk(folder, size="64k"):
    """Gives ``folder``, which soon is full, and a function that makes room in it.

    A disk of its own where this process may mount one, else a limit for each file.
    """
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={size}", "tmpfs"]
    if subprocess.run(["mount", *options, folder], capture_output=True, check=False).returncode == 0:
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(32 << 10))
        try:
            yield folder, ballast.unlink
        finally:
            subprocess.run(["umount", folder], check=True)
    else:
        with ExitStack() as limited:
            limited.enter_context(file_size_limit(16 << 10))
            yield folder, limited.close
