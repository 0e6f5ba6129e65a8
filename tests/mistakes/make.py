#!/usr/bin/env python3
"""Acts out the known mistakes in NumPy and writes one case each: a problem, a solution that makes the
mistake (rounded to four digits, as a person would), and what `heed check` must say of it.

    tests/mistakes/make.py          rewrites *.json beside this file
"""
import json
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).parent
X = np.array([[1, 0, 2], [0, 1, -1], [1, 1, 0], [2, -1, 1]], float)
W_Q = np.array([[1, 0], [1, 1], [0, 1]], float)
W_K = np.array([[0, 1], [2, 0], [1, -1]], float)
W_V = np.array([[1, 2], [0, 1], [1, 0]], float)
Q, K, V = X @ W_Q, X @ W_K, X @ W_V
S = Q @ K.T
PROBLEM = {"tokens": ["we", "see", "every", "number"], "x": X, "w_q": W_Q, "w_k": W_K, "w_v": W_V}
CAUSAL = {**PROBLEM, "causal": True}
FUTURE = np.triu(np.ones((4, 4), bool), 1)


def softmax(z, axis=1):
    e = np.exp(z - z.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def plain(value):
    """Integers bare, other numbers with four digits as text, so that the digits are kept."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, float):
        if np.isinf(value):
            return "-inf" if value < 0 else "inf"
        return int(value) if value == int(value) else f"{value:.4f}"
    return value


def case(name, problem, solution, mistake, wrong, *, carried=0, first=None, says=""):
    """wrong, carried: how many entries get that mark; first: where the first wrong one is."""
    def exact(value):
        return value.tolist() if isinstance(value, np.ndarray) else value
    document = {
        "problem": {key: exact(value) for key, value in problem.items()},
        "solution": plain(solution),
        "expect": {"mistake": mistake, "wrong": wrong, "carried": carried, "first": first, "says": says},
    }
    (HERE / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n")


Z = S / np.sqrt(2)
A = softmax(Z)
case("no-scale", PROBLEM, {"S": S, "Z": S, "A": softmax(S), "O": softmax(S) @ V}, "no-scale",
     int((Z.round(4) != S).sum()), carried=24, first=None, says="not divided by √d_k = √2")
case("no-scale-weights-only", PROBLEM, {"S": S, "A": softmax(S)}, "no-scale", 16)
case("no-root", PROBLEM, {"Z": S / 2}, "no-root", int((S != 0).sum()), says="divided by d_k instead of")
case("root-of-d-model", PROBLEM, {"Z": S / np.sqrt(3)}, "root-of-d-model", int((S != 0).sum()),
     says="√3, the root of the model size")
case("scale-inverted", PROBLEM, {"Z": S * np.sqrt(2)}, "scale-inverted", int((S != 0).sum()))
case("scaled-after-softmax", PROBLEM, {"S": S, "A": softmax(S) / np.sqrt(2)}, "scaled-after-softmax", 16,
     says="before the softmax")
case("output-scaled", PROBLEM, {"A": A, "O": A @ V / np.sqrt(2)}, "scaled-after-softmax", 8)
case("softmax-columns", PROBLEM, {"Z": Z, "A": softmax(Z, axis=0)}, "softmax-columns", 16,
     says="down the columns")
case("exponent-of-the-sum", PROBLEM, {"A": np.exp(Z - Z.sum(axis=1, keepdims=True))}, "exponent-of-the-sum",
     16, says="the exponential of the sum")
case("not-normalised", PROBLEM, {"A": np.exp(Z)}, "not-normalised", 16)
case("no-exponential", PROBLEM, {"A": Z / Z.sum(axis=1, keepdims=True)}, "no-exponential", 16)
case("queries-and-keys-exchanged", PROBLEM, {"Q": Q, "K": K, "S": K @ Q.T}, "queries-and-keys-exchanged",
     int((S != S.T).sum()))
square = {**PROBLEM, "x": X[:2], "tokens": ["we", "see"]}
case("no-transpose", square, {"S": Q[:2] @ K[:2]}, "no-transpose", int((Q[:2] @ K[:2] != S[:2, :2]).sum()),
     says="K was not transposed")
wide = {**PROBLEM, "x": X[:, :2], "w_q": W_Q[:2], "w_k": W_K[:2] + [[0, 0], [0, 3]], "w_v": W_V[:2]}
case("transposed-weights", wide, {"V": X[:, :2] @ W_V[:2].T}, "transposed-weights",
     int((X[:, :2] @ W_V[:2].T != X[:, :2] @ W_V[:2]).sum()), says="W_V was transposed")
case("weights-of-values-transposed", PROBLEM, {"A": A, "O": A.T @ V}, "transposed-weights-of-values", 8)
masked = np.where(FUTURE, -np.inf, Z)
zeroed = np.where(FUTURE, 0, Z)
case("mask-as-zero", CAUSAL, {"M": zeroed, "A": softmax(zeroed)}, "mask-as-zero", 6,
     carried=int((softmax(zeroed).round(4) != softmax(masked).round(4)).sum()),
     says="set to 0 instead of −∞")
case("mask-as-zero-weights-only", CAUSAL, {"A": softmax(zeroed)}, "mask-as-zero",
     int((softmax(zeroed).round(4) != softmax(masked).round(4)).sum()))
case("mask-after-softmax", CAUSAL, {"A": np.where(FUTURE, 0, A)}, "mask-after-softmax",
     int((np.where(FUTURE, 0, A).round(4) != softmax(masked).round(4)).sum()),
     says="no longer add up to 1")
case("no-mask", CAUSAL, {"M": Z}, "no-mask", 6)
case("mask-transposed", CAUSAL, {"M": np.where(FUTURE.T, -np.inf, Z)}, "mask-transposed", 12)

slip = V.copy()
slip[1, 0] = 5
case("slip-of-the-pen", PROBLEM, {"V": slip, "O": A @ V}, "", 1, first="V[see,1]",
     says="a slip of the pen")
case("carried-on", PROBLEM, {"V": slip, "O": A @ slip}, "", 1, carried=4, first="V[see,1]",
     says="it is carried on")
left_out = S.copy()
left_out[3, 0] -= Q[3, 0] * K[0, 0]
case("product-left-out", PROBLEM, {"S": left_out}, "product-left-out", 1, first="S[number,we]",
     says="was left out")
signed = S.copy()
signed[3, 0] -= 2 * Q[3, 0] * K[0, 0]
case("product-sign", PROBLEM, {"S": signed}, "product-sign", 1, says="has the wrong sign")

heads = {"tokens": ["a", "b"], "heads": 2, "x": [[1, 0, 2, 1], [0, 1, 1, -1]],
         "w_q": [[1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 1, 0], [1, 0, 0, 1]],
         "w_k": [[0, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 0]],
         "w_v": [[1, 0, 2, 0], [0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 3]],
         "w_o": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]}
x, w_q, w_k, w_v = (np.array(heads[name], float) for name in ("x", "w_q", "w_k", "w_v"))
O = []
for h in range(2):
    cols = slice(2 * h, 2 * h + 2)
    q, k, v = x @ w_q[:, cols], x @ w_k[:, cols], x @ w_v[:, cols]
    O.append(softmax(q @ k.T / np.sqrt(2)) @ v)
case("concat-order", heads, {"C": np.concatenate([O[1], O[0]], axis=1)}, "concat-order", 8,
     says="wrong order: 2, 1")
case("concat-interleaved", heads,
     {"C": np.stack([O[0], O[1]], axis=2).reshape(2, 4)}, "concat-order", 4, says="interleaved")
