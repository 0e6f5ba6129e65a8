# %% [markdown]
# # Attention by hand
# Three words, two numbers each: small enough to check with a pencil. Then the same from heed, with
# every step in between.
# %%
import numpy as np

import heed

tokens = ["I", "love", "AI"]
x = np.array([[1, 0], [0, 1], [1, 1]])
w_q = np.array([[1, 0], [1, 1]])
w_k = np.array([[0, 1], [1, 0]])
w_v = np.array([[1, 2], [0, 1]])

# %% [markdown]
# ## With a pencil
# Queries, keys and values are products of the words with three matrices.
# %%
q, k, v = x @ w_q, x @ w_k, x @ w_v
print("scores QK^T =")
print(q @ k.T)

# %% [markdown]
# Each row, divided by the root of the head size, goes through the softmax; the weights then mix the
# values.
# %%
z = q @ k.T / np.sqrt(2)
weights = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
by_hand = weights @ v
print("output by hand =")
print(by_hand.round(4))

# %% [markdown]
# ## The same from heed
# One call, in float32, without ever storing the scores:
# %%
output = heed.attention(*(m.astype(np.float32) for m in (q, k, v)))
print("largest difference below 1e-6:", bool(np.abs(output - by_hand).max() < 1e-6))

# %% [markdown]
# And with every number shown. In a notebook a trace shows itself as a page; `expand` spells one
# entry out.
# %%
trace = heed.explain(tokens=tokens, x=x, w_q=w_q, w_k=w_k, w_v=w_v)
assert np.allclose(trace.node("A").values, weights, rtol=1e-14)
assert np.allclose(trace.node("O").values, by_hand, rtol=1e-14)
print(trace.expand("S[love,AI]"))

# %% [markdown]
# ## Marking a solution
# A slip of the pen, love's score for AI as 3, is found and named.
# %%
scores = trace.node("S").values.copy()
scores[1, 2] = 3
report = heed.check({"tokens": tokens, "x": x, "w_q": w_q, "w_k": w_k, "w_v": w_v}, {"S": scores})
assert not report.passed
print(report)
