"""Sizes and numbers of things, as they are given."""
from __future__ import annotations

import operator
import sys
from typing import Any, Optional


def count(name: str, given: Any, least: int = 1) -> int:
    """`given` as an int; TypeError if it is none, ValueError if it is out of range.

    >>> count("pages", 0)
    Traceback (most recent call last):
      ...
    ValueError: pages is 0, expected at least 1
    """
    try:
        number = operator.index(given)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, got {type(given).__name__}") from None
    if number < least:
        raise ValueError(f"{name} is {number}, expected at least {least}")
    if number > sys.maxsize:
        raise ValueError(f"{name} is {number}, expected at most {sys.maxsize}")
    return number


def optional_count(name: str, given: Any, least: int = 1) -> Optional[int]:
    """The same; None stays None."""
    return None if given is None else count(name, given, least)
