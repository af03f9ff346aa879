"""The errors of translations: there is no counterpart, or none was found."""

from morello_layouts.errors import UnsupportedError

__all__ = ["NoTranslationError", "TranslationNotFoundError"]


class NoTranslationError(UnsupportedError):
    """No layout of the other notation has the same offsets.

    >>> issubclass(NoTranslationError, UnsupportedError)
    True
    """


class TranslationNotFoundError(UnsupportedError):
    """No layout of the other notation was found, which does not say that there is none.

    >>> issubclass(TranslationNotFoundError, UnsupportedError)
    True
    """
