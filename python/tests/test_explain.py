"""heed.explain and heed.check: every number of a computation, and the marking of a solution."""
import json
import pathlib

import numpy as np
import pytest

import heed

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
PROBLEM = {"tokens": ["I", "love", "AI"], "x": [[1, 0], [0, 1], [1, 1]], "w_q": [[1, 0], [1, 1]],
           "w_k": [[0, 1], [1, 0]], "w_v": [[1, 2], [0, 1]]}


@pytest.fixture
def trace():
    return heed.explain(PROBLEM)


def test_nodes_are_numpy_with_labels(trace):
    weights = trace.node("A")
    assert weights.values.dtype == np.float64 and weights.values.shape == (3, 3)
    np.testing.assert_allclose(weights.values.sum(axis=1), 1, rtol=1e-15)
    assert weights.row_labels == weights.col_labels == ["I", "love", "AI"]
    assert [node.id for node in trace.nodes][0] == "X"
    q = trace.node("Q").values
    assert (q == np.array(PROBLEM["x"]) @ np.array(PROBLEM["w_q"])).all()


def test_values_are_read_only_and_outlive_the_trace():
    values = heed.explain(PROBLEM).node("A").values
    with pytest.raises(ValueError):
        values[0, 0] = 1
    np.testing.assert_allclose(values.sum(axis=1), 1, rtol=1e-15)


def test_explain_agrees_with_attention(trace):
    q, k, v = (trace.node(name).values for name in "QKV")
    np.testing.assert_allclose(trace.node("O").values, heed.attention(q, k, v), rtol=1e-14)


def test_every_way_to_give_a_problem(tmp_path):
    path = tmp_path / "problem.json"
    path.write_text(json.dumps(PROBLEM), encoding="utf-8")
    arrays = {name: np.array(value) if name != "tokens" else value for name, value in PROBLEM.items()}
    texts = {heed.explain(given).to_json()
             for given in (PROBLEM, arrays, json.dumps(PROBLEM), path, str(path))}
    texts.add(heed.explain(**PROBLEM).to_json())
    assert len(texts) == 1


def test_renderings(trace):
    assert json.loads(trace.to_json())["nodes"]
    assert "love" in trace.to_text() and str(trace) == trace.to_text()
    assert "\\begin" in trace.to_latex()
    assert "|" in trace.to_markdown()
    assert trace.to_svg().lstrip().startswith("<")
    assert trace._repr_html_().startswith("<iframe srcdoc=") and "<script" not in trace._repr_html_()
    assert "love" in trace.expand("S[love,AI]")
    assert "0.4223" not in trace.to_text(digits=2)


def test_errors(trace):
    with pytest.raises(ValueError, match="Nowhere"):
        trace.node("Nowhere")
    with pytest.raises(ValueError, match="detail is 9"):
        trace.to_text(detail=9)
    with pytest.raises(TypeError, match="either a problem or its fields"):
        heed.explain()
    with pytest.raises(ValueError):
        heed.explain("{")
    with pytest.raises(FileNotFoundError):
        heed.explain("no-such-file.json")


def test_check_marks_a_solution():
    right = heed.check(EXAMPLES / "i-love-ai.json", EXAMPLES / "i-love-ai.solution.json")
    assert isinstance(right, heed.Report) and isinstance(right.passed, bool)
    scores = heed.explain(PROBLEM).node("S").values
    assert heed.check(PROBLEM, {"S": scores})
    wrong = scores.copy()
    wrong[1, 2] += 1
    report = heed.check(PROBLEM, {"S": wrong})
    assert not report and "S" in str(report)
