"""Seeing every number: explain, check."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from heed import _core


class Node(NamedTuple):
    """One matrix of a computation."""
    id: str
    op: str
    inputs: List[str]
    batch: int
    head: int
    row_labels: List[str]
    col_labels: List[str]
    values: Any  # numpy.ndarray of float64, read-only


class Trace:
    """Attention as data: every matrix from X to Y, in double, with labels. Shows itself in notebooks."""

    def __init__(self, core: "_core.Trace"):
        self._core = core

    def node(self, id: str, batch: int = 0, head: int = 0) -> Node:
        """The node X, W_Q, ..., Q, K, V, S (scores), Z (scaled), M (masked), A (weights), O, C, Y.

        >>> t = explain({"tokens": ["a", "b"], "x": [[1, 0], [0, 1]], "w_q": [[1, 0], [0, 1]],
        ...              "w_k": [[1, 0], [0, 1]], "w_v": [[1, 0], [0, 1]]})
        >>> t.node("A").values.sum(axis=1)
        array([1., 1.])
        """
        return Node(**self._core.node(id, batch, head))

    @property
    def nodes(self) -> List[Node]:
        """All of them, in dependency order."""
        return [self.node(*which) for which in self._core.ids()]

    def expand(self, entry: str, batch: int = 0, head: int = 0) -> str:
        """One entry spelled out: expand("S[2,3]") or expand("S[love,AI]"), 1-based."""
        return self._core.expand(entry, batch, head)

    def to_text(self, detail: int = 0, digits: int = 4, steps: Sequence[str] = ()) -> str:
        """As `heed explain` prints it; detail -1 (the output only), 0, 1 (every entry), 2 (17 digits)."""
        return self._core.render("text", detail, digits, list(steps))

    def to_markdown(self, detail: int = 0, digits: int = 4, steps: Sequence[str] = ()) -> str:
        return self._core.render("markdown", detail, digits, list(steps))

    def to_latex(self, detail: int = 0, digits: int = 4, steps: Sequence[str] = ()) -> str:
        return self._core.render("latex", detail, digits, list(steps))

    def to_html(self, detail: int = 0, digits: int = 4, steps: Sequence[str] = ()) -> str:
        return self._core.render("html", detail, digits, list(steps))

    def to_svg(self, detail: int = 0, digits: int = 4, steps: Sequence[str] = ()) -> str:
        return self._core.render("svg", detail, digits, list(steps))

    def to_json(self) -> str:
        """The document that `heed explain --format json` writes."""
        return self._core.to_json()

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<heed.Trace of {', '.join(dict.fromkeys(i for i, _, _ in self._core.ids()))}>"

    def _repr_html_(self) -> str:
        # A frame of its own, so that the page's styles and the notebook's leave each other alone.
        from html import escape
        return (f'<iframe srcdoc="{escape(self.to_html(), quote=True)}" sandbox="" '
                'style="width:100%;height:36rem;border:1px solid #ccc"></iframe>')


Problem = Union[str, "os.PathLike[str]", Dict[str, Any]]


def _plain(value: Any) -> Any:
    """Arrays and numbers of NumPy as lists and numbers that JSON knows."""
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return value


def _text_and_folder(source: Problem) -> Tuple[str, str]:
    """A problem or solution as JSON text: given as a dict, as JSON text, or as a path."""
    if isinstance(source, dict):
        return json.dumps(_plain(source)), ""
    if isinstance(source, str) and source.lstrip().startswith(("{", "/*", "//")):
        return source, ""
    path = os.fspath(source)
    with open(path, encoding="utf-8") as file:
        return file.read(), os.path.dirname(path)


def explain(problem: Optional[Problem] = None, **fields: Any) -> Trace:
    """Works a problem out, every step kept: a path, JSON text, a dict, or its fields as arguments.

    >>> trace = explain(tokens=["I", "love", "AI"], x=[[1, 0], [0, 1], [1, 1]],
    ...                 w_q=[[1, 0], [1, 1]], w_k=[[0, 1], [1, 0]], w_v=[[1, 2], [0, 1]])
    >>> trace.node("S").values
    array([[0., 1., 1.],
           [1., 1., 2.],
           [1., 2., 3.]])
    """
    if (problem is None) == (not fields):
        raise TypeError("explain: give either a problem or its fields")
    text, folder = _text_and_folder(fields if problem is None else problem)
    return Trace(_core.Trace(text, folder))


class Report:
    """What check() found: `passed`, `findings` (dicts), and as text how a teacher would say it."""

    def __init__(self, passed: bool, findings: str, text: str):
        self.passed = passed
        self.findings = json.loads(findings)
        self._text = text

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<heed.Report: {'passed' if self.passed else 'not passed'}>"


def check(problem: Problem, solution: Problem) -> Report:
    """Marks a hand-worked solution: a path, JSON text or dict with the claimed values of any step."""
    trace = explain(problem)
    text, _ = _text_and_folder(solution)
    return Report(*trace._core.check(text))
