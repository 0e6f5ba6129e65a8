"""The sessions of docs/python.md give what they show."""
import doctest
import pathlib

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"


def as_doctest(page):
    """The text with fences as empty lines, and empty lines inside of sessions said as doctest does."""
    lines, session = [], False
    for line in page.splitlines():
        if line.startswith("```"):
            session = line == "```pycon"
            line = ""
        elif session and not line:
            line = "<BLANKLINE>"
        lines.append(line)
    return "\n".join(lines) + "\n"


def test_the_sessions_of_the_page():
    text = as_doctest(PAGE.read_text(encoding="utf-8"))
    test = doctest.DocTestParser().get_doctest(text, {}, "docs/python.md", str(PAGE), 0)
    assert len(test.examples) > 20
    report = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert not report, "".join(report)
