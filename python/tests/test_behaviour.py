"""heed as a good citizen of Python: errors, callbacks, interrupts, threads, memory."""
import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import heed

X = np.eye(4, dtype=np.float32)


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


# --- Errors: the type says whose fault it is, the text names both values --------------------------

@pytest.mark.parametrize("arguments, keywords, error, texts", [
    ((ones(3, 64), ones(3, 80), ones(3, 80)), {}, ValueError, ["64", "80"]),
    ((ones(3, 2), ones(4, 2), ones(5, 2)), {}, ValueError, ["4", "5"]),
    ((ones(3, 5, 2), ones(2, 5, 2), ones(2, 5, 2)), {}, ValueError, ["3", "2"]),
    ((ones(2), X, X), {}, ValueError, ["query", "(2)", "(..., tokens, dim)"]),
    ((ones(1, 1, 1, 4, 4), X, X), {}, ValueError, ["query", "(1, 1, 1, 4, 4)"]),
    ((ones(*[1] * 9), X, X), {}, ValueError, ["query", "9", "8"]),
    ((X.astype(np.complex64), X, X), {}, TypeError, ["query", "complex64"]),
    ((X.astype(">f4"), X, X), {}, TypeError, ["query", "byte order"]),
    (([[1.0]], X, X), {}, TypeError, ["query", "list"]),
    ((X, X, None), {}, TypeError, ["value", "NoneType"]),
    ((X, X, X), {"attn_mask": ones(3, 4)}, ValueError, ["3", "4"]),
    ((X, X, X), {"attn_mask": "causal"}, TypeError, ["attn_mask", "str"]),
    ((X, X, X), {"scale": "x"}, TypeError, ["scale", "str"]),
    ((X, X, X), {"softcap": -1.0}, ValueError, ["softcap", "-1"]),
    ((X, X, X), {"window": 3}, ValueError, ["window", "3", "(left, right)"]),
    ((X, X, X), {"window": (1.5, None)}, TypeError, ["window[0]", "float"]),
    ((X, X, X), {"window": (-2, None)}, ValueError, ["window_left", "-2"]),
    ((X, X, X), {"causal_alignment": "left"}, ValueError, ["left", "upper_left"]),
    ((X, X, X), {"kv_lengths": [5]}, ValueError, ["5", "4"]),
    ((X, X, X), {"kv_lengths": [[4]]}, ValueError, ["kv_lengths", "2 axes"]),
    ((X, X, X), {"kv_lengths": "many"}, TypeError, ["kv_lengths", "integers"]),
    ((X, X, X), {"kv_lengths": [1.5]}, TypeError, ["kv_lengths", "integers"]),
    ((X, X, X), {"alibi_slopes": [1, 2], "query_offset": 0}, ValueError, ["2", "1"]),
    ((X, X, X), {"sinks": [1, 2]}, ValueError, ["2", "1"]),
    ((X, X, X), {"cu_seqlens_q": [0, 4]}, ValueError, ["cu_seqlens_k"]),
    ((X, X, X), {"score_mod": 3}, TypeError, ["score_mod", "int"]),
    ((X, X, X), {"threads": -1}, ValueError, ["threads", "-1"]),
    ((X, X, X), {"threads": 0}, ValueError, ["threads", "0"]),
    ((X, X, X), {"return_scores": "all"}, ValueError, ["all", "softmax"]),
    ((X, X, X), {"out": ones(4, 3)}, ValueError, ["3", "4"]),
    ((X, X, X), {"out": ones(4, 4, dtype=np.float16)}, ValueError, ["f16", "f32"]),
    ((X, X, X), {"out": ones(4, 4).T}, ValueError, ["out", "contiguous"]),
    ((X.astype(float),) * 3, {"out": ones(4, 4)}, TypeError, ["out", "f32", "f64"]),
    ((X.astype(float),) * 3, {"out": ones(4, 3, dtype=float)}, ValueError, ["(4, 3)", "(4, 4)"]),
])
def test_errors_name_what_is_wrong(arguments, keywords, error, texts):
    with pytest.raises(error) as raised:
        heed.attention(*arguments, **keywords)
    for text in texts:
        assert text in str(raised.value)


@pytest.mark.parametrize("call, error, texts", [
    (lambda: heed.selfish_attention(ones(2, 3, 4), ones(2, 4), threads=-1), ValueError, ["threads", "-1"]),
    (lambda: heed.selfish_attention("keys", ones(2, 4)), TypeError, ["keys", "str"]),
    (lambda: heed.selfish_attention([[[1, 2], [3]]], [[1, 2]]), TypeError, ["keys", "equal length"]),
    (lambda: heed.KVCache(1, -1, 8), ValueError, ["kv_heads", "-1"]),
    (lambda: heed.KVCache(1, 10**30, 8), ValueError, ["kv_heads", "1000"]),
    (lambda: heed.KVCache(1, 1, 8.5), TypeError, ["key_dim", "float"]),
    (lambda: heed.PagedKVCache(1, 8, 0, pages=1), ValueError, ["value_dim", "0"]),
    (lambda: heed.PagedKVCache(1, 8, pages="many"), TypeError, ["pages", "str"]),
    (lambda: heed.MultiHeadAttention(X, X, X, X, num_heads=-2), ValueError, ["num_heads", "-2"]),
    (lambda: heed.MultiHeadAttention(X, X, X, X, num_heads=3), ValueError, ["4", "3"]),
])
def test_errors_of_the_others_name_what_is_wrong(call, error, texts):
    with pytest.raises(error) as raised:
        call()
    for text in texts:
        assert text in str(raised.value)


def test_a_read_only_out_is_refused():
    out = ones(4, 4)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        heed.attention(X, X, X, out=out)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_out_shares_no_memory_with_what_is_read(dtype):
    memory = np.random.default_rng(3).standard_normal(40).astype(dtype)
    x = np.ones((2, 4), dtype)

    def rows(begin, step=4):
        return np.lib.stride_tricks.as_strided(memory[begin:], (2, 4), (step * memory.itemsize, memory.itemsize))

    q = rows(8)
    for out, named in [(q, "query"), (rows(1), "query"), (rows(15), "query"), (q[::-1], "query"),
                       (rows(4, 8), "query"), (rows(24, 3), "elements that share memory")]:
        before = memory.copy()
        with pytest.raises(ValueError, match=named):
            heed.attention(q, x, x, out=out)
        assert (memory == before).all()
    expected = heed.attention(q, x, x)
    for out in [rows(0), rows(16), rows(4, 12), rows(20)[::-1]]:  # touching, around, upside down
        assert (heed.attention(q, x, x, out=out) == expected).all()
    with pytest.raises(ValueError, match="out shares memory with key"):
        heed.attention(x, q, x, out=rows(6))
    with pytest.raises(ValueError, match="out shares memory with value"):
        heed.attention(x, x, q, out=rows(10))
    with pytest.raises(ValueError, match="out shares memory with bias"):
        heed.attention(x, x, x, memory[24:26], out=rows(25))
    with pytest.raises(ValueError, match="out shares memory with mask"):
        heed.attention(x, x, x, memory.view(np.bool_)[:2], out=rows(0))


def test_out_beside_its_inputs_in_one_row_is_written_where_it_is():
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((2, 7, 4, 3, 8), np.float32)  # q, k, v and out of every head
    q, k, v, out = (rows[:, :, n].swapaxes(1, 2) for n in range(4))
    expected = heed.attention(q, k, v)
    assert (heed.attention(q, k, v, out=out) == expected).all()


def test_a_caches_out_shares_no_memory_with_the_query():
    x = ones(1, 1, 2, 4)
    cache = heed.KVCache(batch=1, kv_heads=1, key_dim=4)
    cache.append(x, x)
    with pytest.raises(ValueError, match="out shares memory with query"):
        cache.attention(x, out=x)


def test_an_error_leaves_out_untouched():
    out = np.full((4, 4), 7, np.float32)
    with pytest.raises(ValueError):
        heed.attention(X, X, X, out=out, softcap=-1.0)
    assert (out == 7).all()


# --- score_mod ------------------------------------------------------------------------------------

def test_a_score_mod_sees_where_its_tile_is():
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((2, 3, n, 16), np.float32) for n in (70, 150, 150))
    bias = rng.standard_normal((2, 3, 70, 150), np.float32)

    def add_bias(scores, batch, head, query, key):
        rows, cols = scores.shape
        part = bias[batch, head, query:query + rows, key:key + cols]
        scores[:part.shape[0], :part.shape[1]] += part

    by_mod = heed.attention(q, k, v, score_mod=add_bias)
    np.testing.assert_allclose(by_mod, heed.attention(q, k, v, attn_mask=bias), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_exception_in_a_score_mod_is_raised_as_it_is(dtype):
    class Mine(Exception):
        pass

    def fail(scores, batch, head, query, key):
        raise Mine("not today")

    x = X.astype(dtype)
    with pytest.raises(Mine, match="not today"):
        heed.attention(x, x, x, score_mod=fail)
    assert heed.attention(x, x, x).shape == (4, 4)


# --- Interrupts and threads -----------------------------------------------------------------------

LONG_RUN = """
import signal, numpy as np, heed
signal.signal(signal.SIGINT, signal.default_int_handler)  # the background may ignore it
x = np.ones(({heads}, 16384, 64), np.{dtype})  # far longer than the test waits
print("running", flush=True)
try:
    while True:
        {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("heads, dtype, call", [
    (64, "float32", "heed.attention(x, x, x)"),
    (64, "float32", "heed.attention(x, x, x, score_mod=lambda *tile: None)"),
    (1, "float64", "heed.attention(x, x, x)"),
    (1, "float32", "heed.attention(x[:, :256], x, x, return_scores='softmax')"),
    (64, "float32", "heed.selfish_attention(x, x[:, 0])"),
    (1, "float32", "heed.MultiHeadAttention(*[np.eye(64, dtype='f4')] * 4, num_heads=8)(x)"),
])
def test_ctrl_c_interrupts_a_long_run(heads, dtype, call):
    code = LONG_RUN.format(heads=heads, dtype=dtype, call=call)
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert run.stdout.readline() == "running\n"
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        output, _ = run.communicate(timeout=120)
        assert output == "interrupted\n" and run.returncode == 0
    finally:
        run.kill()
        run.wait()


def test_other_threads_go_on_meanwhile():
    """With no switching by time, another thread can run only because the GIL was released."""
    x = np.ones((8, 4096, 64), np.float32)
    order, begun = [], threading.Event()

    def other():
        begun.wait()
        order.append("other")

    thread = threading.Thread(target=other)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        thread.start()
        begun.set()
        order.append("before")
        heed.attention(x, x, x)
        order.append("after")
        thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert order == ["before", "other", "after"]


def test_runs_of_several_threads_do_not_disturb_each_other():
    rng = np.random.default_rng(2)
    inputs = [rng.standard_normal((3, 2, 60, 16), np.float32) for _ in range(4)]
    expected = [heed.attention(*x) for x in inputs]
    results = [None] * 4

    def work(n):
        for _ in range(20):
            results[n] = heed.attention(*inputs[n])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((got == want).all() for got, want in zip(results, expected))


# --- Memory ---------------------------------------------------------------------------------------

def call_everything():
    x = ones(2, 8, 16)
    heed.attention(x, x, x, ones(8, 8), True, return_lse=True, return_scores="softmax",
                   score_mod=lambda *tile: None)
    heed.attention(x.swapaxes(1, 2), x.swapaxes(1, 2), x.swapaxes(1, 2), out=ones(2, 16, 8))
    heed.attention(memoryview(x), x, x)
    heed.plan(x, x, x)
    heed.MultiHeadAttention(*[ones(4, 4)] * 4, num_heads=2)(ones(3, 4))
    trace = heed.explain(q=[[1, 0]], k=[[1, 0]], v=[[2, 1]])
    assert trace.node("A").values[0, 0] == 1
    for bad in ({"softcap": -1.0}, {"score_mod": lambda *tile: 1 / 0}, {"out": "nowhere"}):
        try:
            heed.attention(x, x, x, **bad)
        except (ValueError, TypeError, ZeroDivisionError):
            pass


def test_no_references_leak():
    q, mask, mod = ones(2, 8, 16), ones(8, 8), lambda *tile: None
    out = ones(2, 8, 16)
    held = (q, mask, mod, out)
    heed.attention(q, q, q, mask, score_mod=mod, out=out)
    counts = [sys.getrefcount(x) for x in held]
    for _ in range(100):
        heed.attention(q, q, q, mask, score_mod=mod, out=out)
    assert [sys.getrefcount(x) for x in held] == counts


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux's /proc")
def test_a_loop_holds_memory_flat():
    def resident():
        gc.collect()
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    for _ in range(200):  # arenas, caches and threads settle
        call_everything()
    before = resident()
    for _ in range(600):
        call_everything()
    # The smallest array passed is 128 bytes; one leaked per round would be 77 kB and more with what
    # surrounds it, the larger ones over 1 MB. Allocators move by a few pages.
    assert resident() - before < 1 << 20


# --- Types ----------------------------------------------------------------------------------------

def test_the_stub_names_what_the_core_has():
    """What _core.pyi declares, class by class, is what the extension defines."""
    import ast
    import pathlib

    from heed import _core
    stub = ast.parse(pathlib.Path(heed.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))

    def public(scope):
        return {name for name in vars(scope) if not name.startswith("_")}

    def declared(body):
        named = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        return {name for name in named if not name.startswith("_")}

    assert declared(stub.body) == public(_core)
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            assert declared(node.body) == public(getattr(_core, node.name))
    assert pathlib.Path(heed.__file__).with_name("py.typed").exists()
