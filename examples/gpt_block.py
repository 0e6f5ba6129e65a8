# %% [markdown]
# # A GPT-style block with a cache
# A block of a small GPT with random weights reads a prompt at once, then writes token by token. With
# the keys and values kept, each step attends in time linear in what came before, and gives what
# reading everything again would give.
# %%
import numpy as np

import heed

D_MODEL, HEADS, PROMPT, STEPS = 64, 4, 24, 40
rng = np.random.default_rng(7)


def weight(*shape):
    return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


w_q, w_k, w_v, w_o = (weight(D_MODEL, D_MODEL) for _ in range(4))
w_up, w_down = weight(D_MODEL, 4 * D_MODEL), weight(4 * D_MODEL, D_MODEL)


# %% [markdown]
# The parts of a block that are not attention.
# %%
def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def feed_forward(x):
    return np.maximum(norm(x) @ w_up, 0) @ w_down


def heads(x):
    """(tokens, d_model) as (1, heads, tokens, d_model / heads), without copying."""
    return x.reshape(1, len(x), HEADS, -1).swapaxes(1, 2)


# %% [markdown]
# ## Everything at once
# heed's layer does projections, heads, attention and output in one call.
# %%
layer = heed.MultiHeadAttention(w_q, w_k, w_v, w_o, num_heads=HEADS)


def block(x):
    x = x + layer(norm(x), is_causal=True)
    return x + feed_forward(x)


# %% [markdown]
# ## Step by step
# The new tokens' keys and values join the cache; their queries attend to all of it.
# %%
def cached_block(x, cache):
    y = norm(x)
    cache.append(heads(y @ w_k), heads(y @ w_v))
    attended = cache.attention(heads(y @ w_q))
    x = x + attended.swapaxes(1, 2).reshape(len(x), D_MODEL) @ w_o
    return x + feed_forward(x)


tokens = rng.standard_normal((PROMPT + STEPS, D_MODEL)).astype(np.float32)
cache = heed.KVCache(batch=1, kv_heads=HEADS, key_dim=D_MODEL // HEADS)
written = [cached_block(tokens[:PROMPT], cache)]
for i in range(PROMPT, PROMPT + STEPS):
    written.append(cached_block(tokens[i:i + 1], cache))
step_by_step = np.concatenate(written)

print(layer)
print(cache)
difference = np.abs(step_by_step - block(tokens)).max()
print("step by step equals everything at once:", bool(difference < 1e-4))
assert difference < 1e-4
