"""heed.torch against PyTorch itself, where PyTorch is installed."""
import pytest

torch = pytest.importorskip("torch")
import heed.torch  # noqa: E402

F = torch.nn.functional
theirs = F.scaled_dot_product_attention
ours = heed.torch.scaled_dot_product_attention
# One rounding of a result below 4 in magnitude, and in float32 the sums of some 40 terms twice over.
CLOSE = {torch.float32: 4e-6, torch.float16: 4 * 2.0**-10, torch.bfloat16: 4 * 2.0**-7}


def random(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("dtype", CLOSE)
@pytest.mark.parametrize("shape", [(5, 8), (3, 5, 8), (2, 3, 5, 8), (2, 2, 3, 5, 8)])
@pytest.mark.parametrize("causal", [False, True])
def test_same_as_torch(dtype, shape, causal):
    q, k, v = (random(*shape, dtype=dtype, seed=n) for n in range(3))
    got = ours(q, k, v, is_causal=causal)
    assert got.dtype == dtype and got.shape == shape
    torch.testing.assert_close(got, theirs(q, k, v, is_causal=causal), rtol=0, atol=CLOSE[dtype])


@pytest.mark.parametrize("mask", [random(5, 7), random(5, 7) < 0.5, random(2, 1, 5, 7),
                                  random(2, 3, 5, 7) < 0.8])
def test_masks_and_scale(mask):
    q, k, v = random(2, 3, 5, 8), random(2, 3, 7, 8, seed=1), random(2, 3, 7, 4, seed=2)
    wanted = torch.nan_to_num(theirs(q, k, v, attn_mask=mask, scale=0.7))  # no key: NaN or 0
    torch.testing.assert_close(ours(q, k, v, attn_mask=mask, scale=0.7), wanted, rtol=0, atol=4e-6)


def test_grouped_heads_and_strided_tensors():
    q = random(2, 5, 6, 8).transpose(1, 2)
    k, v = (random(2, 7, 2, 8, seed=n).transpose(1, 2) for n in (1, 2))
    torch.testing.assert_close(ours(q, k, v, enable_gqa=True), theirs(q, k, v, enable_gqa=True),
                               rtol=0, atol=4e-6)
    with pytest.raises(ValueError, match="6 heads but key has 2"):
        ours(q, k, v)


@pytest.mark.parametrize("x", [random(3, 5, 8), random(2, 3, 5, 8), random(2, 2, 3, 5, 8),
                               random(2, 5, 3, 8).transpose(1, 2), random(2, 5, 9, 8)[:, :, :3].transpose(1, 2)])
def test_the_result_lies_in_memory_as_theirs(x):
    assert ours(x, x, x).stride() == theirs(x, x, x).stride()


def test_it_runs_on_pytorchs_threads_and_on_as_many(monkeypatch):
    x = random(1, 8, 256, 64)
    calls = []

    def record(gomp_parallel, q, k, v, keywords, out):
        calls.append(gomp_parallel)
        return by_openmp(gomp_parallel, q, k, v, keywords, out)

    by_openmp = heed._core.attention_by_openmp
    monkeypatch.setattr(heed._core, "attention_by_openmp", record)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(ours(x, x, x))
    finally:
        torch.set_num_threads(before)
    assert all((result == results[0]).all() for result in results)
    if heed.torch._gomp_parallel() == 0:
        pytest.skip("this PyTorch does not run on an OpenMP library that could be found")
    assert calls == [heed.torch._gomp_parallel()] * 3


def test_what_is_not_computed_raises():
    x = random(2, 4, 8)
    with pytest.raises(ValueError, match="dropout_p is 0.5"):
        ours(x, x, x, dropout_p=0.5)
    with pytest.raises(ValueError, match="exclude each other"):
        ours(x, x, x, attn_mask=random(4, 4), is_causal=True)
    with pytest.raises(ValueError, match="gradients"):
        ours(x.clone().requires_grad_(), x, x)
    with pytest.raises(ValueError, match="float64"):
        ours(x.double(), x.double(), x.double())
    with pytest.raises(ValueError, match="one dtype"):
        ours(x, x.half(), x.half())


def test_a_transformer_runs_on_it(monkeypatch):
    torch.manual_seed(0)

    class Block(torch.nn.Module):
        def __init__(self, d=32, heads=4):
            super().__init__()
            self.heads, self.qkv, self.out = heads, torch.nn.Linear(d, 3 * d), torch.nn.Linear(d, d)

        def forward(self, x):
            q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                       for t in self.qkv(x).chunk(3, dim=-1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + self.out(y.transpose(1, 2).flatten(2))

    model = torch.nn.Sequential(Block(), Block(), Block()).eval()
    x = random(2, 17, 32)
    with torch.inference_mode():
        expected = model(x)
        calls = []
        monkeypatch.setattr(F, "scaled_dot_product_attention",
                            lambda *a, **k: calls.append(1) or ours(*a, **k))
        torch.testing.assert_close(model(x), expected, rtol=0, atol=2e-5)
    assert len(calls) == 3


def test_tensors_go_straight_into_attention():
    x = random(3, 4, 8)
    out = torch.empty_like(x)
    heed.attention(x, x, x, out=out)
    torch.testing.assert_close(out, theirs(x, x, x), rtol=0, atol=4e-6)
