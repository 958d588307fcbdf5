"""Images that are kept beside a trajectory."""

import base64

import anyio

from terminus_core.images import keep_images


def test_a_link_in_place_of_the_folder_is_not_followed(tmp_path, caplog):
    data = base64.b64encode(b"an image").decode()
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    run, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    run.mkdir()
    elsewhere.mkdir()
    (kept,), (file,) = anyio.run(keep_images, run, [part])
    assert file.read_bytes() == b"an image"
    assert file.stat().st_mode & 0o777 == 0o600
    file.unlink()
    file.parent.rmdir()
    file.parent.symlink_to(elsewhere)
    assert anyio.run(keep_images, run, [part]) == ([], [])
    assert list(elsewhere.iterdir()) == []
    assert "not followed" in caplog.text
    assert kept.type == "image"
