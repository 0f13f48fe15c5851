"""JPEG layouts without a name of their own: the pixels are TensorFlow's."""

from __future__ import annotations

import base64
import hashlib

import pytest

import feedline as fl

FILES = {
    "CMYK 4:2:0": base64.b64decode(
        "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAUDg8SDw0UEhASFxUUGB4yIR4cHB49LC4kMklATEtHQEZFUFpzYlBVbVZFRmSIZW13e4GC"
        "gU5gjZeMfZZzfoF8/8AAFAgAFAAXBEMiAE0RAFkRAEsRAP/EABgAAQEBAQEAAAAAAAAAAAAAAAYABQME/8QAJhAAAQMEAAUFAQAA"
        "AAAAAAAAAQACBAMFESEGEzFBURIjYXGh0f/aAA4EQwBNAFkASwAAPwDGi0nzpmeoymdFjIMMHocLNsFvFOmKjgufENxDRy6Z/V67"
        "NFZboBkVNOIytSFRZb4HqOjhbUh7YUPA1pY11lOlySASVLpZ4Jk1C57chSOTZ1aRKfUYTjOEWm3J1SU9wJxnyhcqa58h7ge/lL6o"
        "5MP29aQaW91eYRUOd4UpJr6cW1oGh8JNfSRC1rSS8RE8rqUuslFjI4LR2UpSPQWtMcEtB34Qkd/tDv6v/9k="
    ),
    "YCCK 4:2:2": base64.b64decode(
        "/9j/7gAOQWRvYmUAZAAAAAAC/9sAQwAUDg8SDw0UEhASFxUUGB4yIR4cHB49LC4kMklATEtHQEZFUFpzYlBVbVZFRmSIZW13e4GC"
        "gU5gjZeMfZZzfoF8/8AAFAgACwAXBEMhAE0RAFkRAEsRAP/EABcAAQEBAQAAAAAAAAAAAAAAAAYFAAP/xAAlEAABAwQBBAIDAAAA"
        "AAAAAAABAAIEAwURIRIiQVFxBpETFCT/2gAOBEMATQBZAEsAAD8AjRaT50zkdjKZ0WNgQ8nRwunxahwourOH2qFioihD5nwrtJv4"
        "IXjSIXSW6XJLW5wD2WU+5zyZtTide1GuMz+x/UiM2STKftVPjTGkgkd1Qv73NoYacDHZXbWA20EgY6Uho9Nt6daS2dqEceEXtrQ+"
        "SeYz79LIbLJMl5J3lCZzj+0/ZQGXuQ7JP2v/2Q=="
    ),
    "4:4:1": base64.b64decode(
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABQODxIPDRQSEBIXFRQYHjIhHhwcHj0sLiQySUBMS0dARkVQWnNiUFVtVkVGZIhlbXd7"
        "gYKBTmCNl4x9lnN+gXz/2wBDARUXFx4aHjshITt8U0ZTfHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8fHx8"
        "fHx8fHx8fHz/wAARCAAeAA0DARQAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUF"
        "BAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVW"
        "V1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi"
        "4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAEC"
        "AxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVm"
        "Z2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq"
        "8vP09fb3+Pn6/9oADAMBAAIRAxEAPwDU1K5EEBAPQVxs8jXVxgc810ujWYjQMRVnUbgIhUGpoq7Qq3u0pfcc+xMkhJNXLdOBWhGo"
        "Aqlfz7QQKul72JbNZL9/Sh2Vz//Z"
    ),
}
# For colours mixed or not and each method: a hash of the pixels at 1, 1/2, 1/4 and 1/8 of the size.
OF_TENSORFLOW = {
    ("CMYK 4:2:0", True, ""): "77b40765843e2004",
    ("CMYK 4:2:0", True, "INTEGER_FAST"): "77b40765843e2004",
    ("CMYK 4:2:0", True, "INTEGER_ACCURATE"): "9b76779d9e0edf8e",
    ("CMYK 4:2:0", False, ""): "ec3e42b99f5f41e5",
    ("CMYK 4:2:0", False, "INTEGER_FAST"): "ec3e42b99f5f41e5",
    ("YCCK 4:2:2", True, ""): "ac06230065558ecf",
    ("YCCK 4:2:2", True, "INTEGER_FAST"): "ac06230065558ecf",
    ("YCCK 4:2:2", True, "INTEGER_ACCURATE"): "1d2280defb9f071e",
    ("YCCK 4:2:2", False, ""): "aa15db2e08da0a3c",
    ("YCCK 4:2:2", False, "INTEGER_FAST"): "aa15db2e08da0a3c",
    ("4:4:1", True, ""): "6169ed2eea071fd9",
    ("4:4:1", True, "INTEGER_FAST"): "6169ed2eea071fd9",
    ("4:4:1", True, "INTEGER_ACCURATE"): "330f45f3d0124859",
    ("4:4:1", False, ""): "6169ed2eea071fd9",
    ("4:4:1", False, "INTEGER_FAST"): "6169ed2eea071fd9",
}


@pytest.mark.parametrize(("name", "fancy", "method"), OF_TENSORFLOW)
def test_pixels(name: str, fancy: bool, method: str) -> None:
    found = hashlib.sha256()
    for ratio in (1, 2, 4, 8):
        pixels = fl.io.decode_jpeg(FILES[name], ratio=ratio, fancy_upscaling=fancy, dct_method=method)
        found.update(pixels.tobytes())
    assert found.hexdigest()[:16] == OF_TENSORFLOW[name, fancy, method]


def test_gray() -> None:
    gray = fl.io.decode_jpeg(FILES["4:4:1"], channels=1)
    assert gray.shape == (30, 13, 1) and hashlib.sha256(gray.tobytes()).hexdigest()[:16] == "154fc6dc8349e96f"


@pytest.mark.parametrize("name", FILES)
def test_windows_are_those_of_the_whole(name: str) -> None:
    whole = fl.io.decode_jpeg(FILES[name])
    window = fl.io.decode_and_crop_jpeg(FILES[name], [2, 3, 7, 9])
    assert window.tolist() == whole[2:9, 3:12].tolist()
    assert fl.io.extract_jpeg_shape(FILES[name]).tolist()[:2] == list(whole.shape[:2])


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_cut(name: str) -> None:
    for end in range(4, len(FILES[name]) - 2, 11):
        with pytest.raises(fl.errors.InvalidArgumentError, match="JPEG file"):
            fl.io.decode_jpeg(FILES[name][:end])
