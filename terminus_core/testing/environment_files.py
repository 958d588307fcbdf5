"""Conformance of environments: files that are copied there and back."""

# ruff: noqa: S101, PLR2004 - a suite asserts

from __future__ import annotations

import secrets
import shlex
from pathlib import Path

import pytest

from terminus_core import Environment, EnvironmentFailedError
from terminus_core.testing.environment_base import EnvironmentSuite, own_folder
from terminus_core.testing.suite import needs


class EnvironmentFileTests(EnvironmentSuite):
    """``upload_file`` and ``download_file``: byte for byte, any name, a clear word where it cannot be."""

    async def test_files_are_copied_byte_for_byte(self, environment: Environment, tmp_path: Path) -> None:
        """Any bytes, any size, any name."""
        async with environment as place, own_folder(place) as folder:
            for name, data in {"""a 'b" $c é""": secrets.token_bytes(1_500_000), "-n": b"", "text": b"\r\n\0 "}.items():
                (tmp_path / name).write_bytes(data)
                await place.upload_file(tmp_path / name, f"{folder}/{name}")
                size = await place.exec(f"wc -c < {shlex.quote(f'{folder}/{name}')}")
                assert int(size.stdout) == len(data)
                await place.download_file(f"{folder}/{name}", tmp_path / "back")
                assert (tmp_path / "back").read_bytes() == data

    async def test_a_copy_replaces_what_was_there(self, environment: Environment, tmp_path: Path) -> None:
        """Longer old contents do not shine through."""
        (tmp_path / "short").write_bytes(b"new")
        async with environment as place, own_folder(place) as folder:
            await place.exec("echo old and longer > file", cwd=folder)
            await place.upload_file(tmp_path / "short", f"{folder}/file")
            assert (await place.exec("cat file", cwd=folder)).stdout == "new"
            (tmp_path / "here").write_bytes(b"old and longer")
            await place.download_file(f"{folder}/file", tmp_path / "here")
        assert (tmp_path / "here").read_bytes() == b"new"

    @needs("permissions")
    async def test_copies_keep_permissions(self, environment: Environment, tmp_path: Path) -> None:
        """A script stays one, a private file stays private."""
        source, back = tmp_path / "script", tmp_path / "back"
        source.write_bytes(b"#!/bin/sh\necho ran\n")
        source.chmod(0o750)
        async with environment as place, own_folder(place) as folder:
            await place.upload_file(source, f"{folder}/script")
            assert (await place.exec("./script", cwd=folder)).stdout == "ran\n"
            await place.exec("chmod 640 script", cwd=folder)
            await place.download_file(f"{folder}/script", back)
        assert back.stat().st_mode & 0o777 == 0o640

    async def test_a_missing_source_is_told(self, environment: Environment, tmp_path: Path) -> None:
        """With the errors of the interface; nothing is written."""
        async with environment as place, own_folder(place) as folder:
            with pytest.raises(FileNotFoundError):
                await place.download_file(f"{folder}/none", tmp_path / "back")
            with pytest.raises(FileNotFoundError):
                await place.upload_file(tmp_path / "none", f"{folder}/target")
            listing = await place.exec("ls -a | wc -l", cwd=folder)
        assert not (tmp_path / "back").exists()
        assert int(listing.stdout) == 2

    async def test_a_target_that_cannot_be_written_is_told(self, environment: Environment, tmp_path: Path) -> None:
        """There: ``EnvironmentFailedError`` that names it; here: ``OSError``."""
        source = tmp_path / "source"
        source.write_bytes(b"x" * 200_000)
        async with environment as place, own_folder(place) as folder:
            with pytest.raises(EnvironmentFailedError, match="none/target"):
                await place.upload_file(source, f"{folder}/none/target")
            await place.upload_file(source, f"{folder}/file")
            with pytest.raises(OSError, match="none"):
                await place.download_file(f"{folder}/file", tmp_path / "none" / "file")
