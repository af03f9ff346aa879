"""SVG to PNG, by whatever converter is installed."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from morello_layouts.errors import LayoutError, UnsupportedError

__all__ = ["png_of"]

_LARGEST: Final = 8000  # pixels along a side
_SECONDS: Final = 60
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")


def png_of(svg: str, scale: float = 2.0) -> bytes:
    """A PNG of an SVG document, on light paper.

    Args:
        svg: the document.
        scale: pixels for each unit; less where the image would have more than 8000 along a side.

    Raises:
        UnsupportedError: where no converter is installed.
        LayoutError: where the converter fails, or the scale is not positive.
    """
    if not scale > 0:
        raise LayoutError(f"the scale is {scale}", "an image has pixels", "give 2, say")
    width, height = size_of(svg)
    scale = min(scale, _LARGEST / max(width, height))
    try:
        cairosvg = importlib.import_module("cairosvg")
    except (ImportError, OSError):  # OSError: the package is there, the Cairo library is not
        return _by_program(svg, width, height, scale)
    return bytes(cairosvg.svg2png(bytestring=svg.encode(), scale=scale))


def size_of(svg: str) -> tuple[float, float]:
    """The width and height that a picture's document says.

    >>> size_of('<svg width="30" height="20.5">')
    (30.0, 20.5)
    """
    found = re.search(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', svg)
    assert found is not None
    return float(found[1]), float(found[2])


def _by_program(svg: str, width: float, height: float, scale: float) -> bytes:
    with tempfile.TemporaryDirectory() as place:
        source, target = Path(place, "picture.svg"), Path(place, "picture.png")
        source.write_text(svg, encoding="utf-8")
        command = _command(source, target, width, height, scale)
        try:
            run = subprocess.run(
                command, capture_output=True, timeout=_SECONDS, check=False, cwd=place
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _failed(command, str(error)) from None
        if run.returncode or not target.exists():
            raise _failed(command, run.stderr.decode(errors="replace").strip()[-200:])
        return target.read_bytes()


def _command(source: Path, target: Path, width: float, height: float, scale: float) -> list[str]:
    if rsvg := shutil.which("rsvg-convert"):
        return [rsvg, "--zoom", f"{scale:g}", "--output", str(target), str(source)]
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise UnsupportedError(
            "no converter from SVG to PNG is installed",
            "cairosvg, rsvg-convert and chromium were looked for",
            "pip install cairosvg, or save as .svg or .html",
        )
    return [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--blink-settings=preferredColorScheme=1",
        f"--user-data-dir={source.parent / 'profile'}",
        f"--force-device-scale-factor={scale:g}",
        f"--window-size={int(width) + 1},{int(height) + 1}",
        f"--screenshot={target}", source.as_uri(),
    ]  # fmt: skip


def _failed(command: list[str], reason: str) -> LayoutError:
    return LayoutError(
        f"{Path(command[0]).name} could not convert the picture to PNG",
        reason or "it said nothing",
        "pip install cairosvg, or save as .svg or .html",
    )
