"""Files that are written whole: what stood there stays until all of the new content is there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from morello_layouts.errors import LayoutError

__all__ = ["written"]


@contextmanager
def written(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a new file beside a path, to write to; it takes the path's place at the end.

    If the body raises, the new file is removed, and what stood at the path stays. The new file has
    the mode of the one that it replaces; a link is followed. A device or a stream, and a file
    in a folder that takes no new ones, is given itself.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     with written(path) as beside:
    ...         _ = beside.write_text("new")
    ...         before = path.exists()
    ...     before, path.read_text(), os.listdir(folder)
    (False, 'new', ['a.txt'])

    Raises:
        LayoutError: if the file cannot be written.
    """
    try:
        target = Path(os.path.realpath(path))
        old = target.stat() if target.exists() else None
        is_plain = old is None or (stat.S_ISREG(old.st_mode) and os.access(target, os.W_OK))
        is_stream = os.fspath(path).startswith(("/dev/", "/proc/"))  # as /dev/stdout
        beside = None if is_stream or not is_plain else _made(target, is_needed=old is None)
        if beside is None:
            yield Path(path)
            return
        try:
            yield beside
            if old is not None:
                beside.chmod(stat.S_IMODE(old.st_mode))
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except LayoutError:
        raise
    except (OSError, ValueError) as error:
        raise LayoutError(
            f"{os.fspath(path)} could not be written",
            getattr(error, "strerror", None) or str(error),
            "write it to another place",
        ) from None


def _made(target: Path, *, is_needed: bool) -> Path | None:
    """Make an empty file of the mode of new ones; None if not permitted, and not needed."""
    beside = target.parent / f".{os.urandom(8).hex()}.tmp"
    try:
        os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except PermissionError:
        if is_needed:
            raise
        return None
    return beside
