# %% [markdown]
# # Looking at weights
# Fast attention never stores its weights. heed gives them when asked, for any layout and option.
# %%
import numpy as np

import heed

words = "the cat sat on the mat because it was tired".split()
rng = np.random.default_rng(3)
q, k, v = (rng.standard_normal((2, len(words), 16)).astype(np.float32) for _ in range(3))

# %% [markdown]
# Let "it" (7) and "cat" (1) find each other in head 0.
# %%
q[0, 7] += 2 * k[0, 1]
output, weights = heed.attention(q, k, v, is_causal=True, return_scores="softmax")


def show(head):
    """Weights of a head as shades, one row per query."""
    for word, row in zip(words, weights[head]):
        print(f"{word:>8} |" + "".join(" .:-=+*#%@"[min(9, int(10 * p))] for p in row) + "|")


print("head 0, a column per word:")
show(0)

# %% [markdown]
# Whom does "it" look at?
# %%
for j in np.argsort(-weights[0, 7])[:3]:
    print(f"it -> {words[j]:<8} {weights[0, 7, j]:.2f}")
assert weights[0, 7].argmax() == 1

# %% [markdown]
# What these weights must be: sums of one, nothing from the future, and the output their mean of v.
# %%
np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-6)
assert (np.triu(weights[0], 1) == 0).all()
np.testing.assert_allclose(weights @ v, output, rtol=1e-4, atol=1e-5)

# %% [markdown]
# How spread they are: the effective number of words a query looks at, exp of the entropy.
# %%
entropy = -(weights * np.log(np.where(weights > 0, weights, 1))).sum(axis=-1)
print("words looked at, head 0:", " ".join(f"{n:.1f}" for n in np.exp(entropy[0])))
