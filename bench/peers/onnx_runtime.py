"""ONNX Runtime on its CPU provider: MultiHeadAttention, GroupQueryAttention and Attention; a layer by
its MatMul around MultiHeadAttention, or by the contributed Attention that has the projections too."""
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import worker

NAME = "onnxruntime"
VERSION = ort.__version__
ELEMENTS = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16}
NUMPY = {"f32": np.float32, "f16": np.float16}
CONTRIB = "com.microsoft"


def session(op, domain, inputs, outputs, attributes, threads):
    """A session over one node. inputs and outputs are (name, element type, rank); a name of "" is an
    input left out."""
    node = helper.make_node(op, [i[0] for i in inputs], [o[0] for o in outputs], domain=domain,
                            **attributes)
    return graph_session([node], inputs, outputs, threads)


def graph_session(nodes, inputs, outputs, threads, constants=None):
    """A session over nodes, with constants {name: array} that the runtime may pack as it likes."""
    values = [[helper.make_tensor_value_info(name, element, [None] * rank)
               for name, element, rank in group if name] for group in (inputs, outputs)]
    initializers = [numpy_helper.from_array(x, name) for name, x in (constants or {}).items()]
    model = helper.make_model(
        helper.make_graph(nodes, "peer", *values, initializers), ir_version=10,
        opset_imports=[helper.make_opsetid("", 23), helper.make_opsetid(CONTRIB, 1)])
    onnx.checker.check_model(model)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(model.SerializeToString(), options,
                                providers=["CPUExecutionProvider"])


class Bound:
    """Runs a session on one set of inputs again and again; memory is bound once."""

    def __init__(self, running, feeds, results, shared=()):
        """shared: pairs (output, input) that live in the same memory."""
        self.session = running
        values = {name: ort.OrtValue.ortvalue_from_numpy(x) for name, x in feeds.items()}
        values.update({name: ort.OrtValue.ortvalue_from_numpy(x) for name, x in results.items()})
        self.kept = values, feeds, results
        self.binding = running.io_binding()
        for name in feeds:
            self.binding.bind_ortvalue_input(name, values[name])
        for name in results:
            self.binding.bind_ortvalue_output(name, values[name])
        for output, source in shared:
            self.binding.bind_ortvalue_output(output, values[source])

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def result(self, name):
        return self.kept[0][name].numpy().astype(np.float32)


class Runner:
    """One call, or one for each sequence of a ragged batch."""

    def __init__(self, calls, arrange):
        self.calls, self.arrange = calls, arrange

    def run(self):
        for call in self.calls:
            call.run()

    def answer(self):
        return self.arrange([call.result("o") for call in self.calls])


def tokens_first(x):
    """[batch, heads, tokens, dim] to [batch, tokens, heads * dim]."""
    batch, heads, tokens, dim = x.shape
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(batch, tokens, heads * dim)


def heads_first(x, heads):
    batch, tokens, width = x.shape
    return x.reshape(batch, tokens, heads, width // heads).transpose(0, 2, 1, 3)


def sequences(problem, padded):
    """(q, k, v) of [batch, tokens, heads * dim] for each call, and how to arrange its answers. A ragged
    batch is one call, padded, or one for each sequence."""
    stored = NUMPY[problem.dtype]
    arrays = [x.astype(stored) for x in (problem.q, problem.k, problem.v)]
    if padded:
        whole = [problem.padded(x) for x in arrays]
        return ([[x.reshape(*x.shape[:2], -1) for x in whole]],
                lambda outs: problem.unpadded(outs[0].reshape(whole[0].shape)))
    if problem.lengths:
        calls = [[np.ascontiguousarray(x[a:b]).reshape(1, b - a, -1) for x in arrays]
                 for a, b in problem.spans()]
        return calls, lambda outs: np.concatenate([o[0] for o in outs]).reshape(problem.q.shape)
    return ([[tokens_first(x) for x in arrays]],
            lambda outs: heads_first(outs[0], problem.query_heads))


def multi_head_attention(problem, threads, padded=False):
    element = ELEMENTS[problem.dtype]
    inputs = [("q", element, 3), ("k", element, 3), ("v", element, 3)]
    if problem.mask is not None:
        inputs += [("", None, 0), ("", None, 0), ("bias", element, 4)]
    running = session("MultiHeadAttention", CONTRIB, inputs, [("o", element, 3)],
                      {"num_heads": problem.query_heads, "scale": problem.scale,
                       "unidirectional": int(problem.causal)}, threads)
    calls, arrange = sequences(problem, padded)
    bound = []
    for q, k, v in calls:
        feeds = {"q": q, "k": k, "v": v}
        if problem.mask is not None:
            feeds["bias"] = problem.mask
        bound.append(Bound(running, feeds, {"o": np.zeros_like(q)}))
    return Runner(bound, arrange)


def group_query_attention(problem, threads, padded=False):
    element = ELEMENTS[problem.dtype]
    decode = problem.kind == "decode"
    past = [("past_k", element, 4), ("past_v", element, 4)] if decode else [("", None, 0)] * 2
    inputs = [("q", element, 3), ("k", element, 3), ("v", element, 3), *past,
              ("seqlens_k", TensorProto.INT32, 1), ("total", TensorProto.INT32, 1)]
    outputs = [("o", element, 3), ("present_k", element, 4), ("present_v", element, 4)]
    running = session("GroupQueryAttention", CONTRIB, inputs, outputs,
                      {"num_heads": problem.query_heads, "kv_num_heads": problem.kv_heads,
                       "scale": problem.scale}, threads)
    calls, arrange = sequences(problem, padded)
    bound = []
    for q, k, v in calls:
        batch, keys, _ = k.shape
        lengths = problem.lengths if padded else [keys] * batch
        feeds = {"q": q, "k": k, "v": v, "seqlens_k": np.array(lengths, np.int32) - 1,
                 "total": np.array([keys], np.int32)}
        results = {"o": np.zeros_like(q)}
        shared = ()
        if decode:  # the cache has all keys already, and the newest is written to where it is
            stored = NUMPY[problem.dtype]
            feeds.update(k=np.ascontiguousarray(k[:, -1:]), v=np.ascontiguousarray(v[:, -1:]),
                         past_k=problem.k.astype(stored), past_v=problem.v.astype(stored))
            shared = (("present_k", "past_k"), ("present_v", "past_v"))
        else:
            cache = batch, problem.kv_heads, keys, problem.head_dim
            results.update(present_k=np.zeros(cache, k.dtype), present_v=np.zeros(cache, k.dtype))
        bound.append(Bound(running, feeds, results, shared))
    return Runner(bound, arrange)


def attention(problem, threads, padded=False):
    element = ELEMENTS[problem.dtype]
    rank = 3 if problem.lengths else 4
    inputs = [(name, element, rank) for name in "qkv"]
    if problem.mask is not None:
        inputs.append(("mask", element, 4))
    attributes = {"is_causal": int(problem.causal), "scale": problem.scale}
    if rank == 3:
        attributes.update(q_num_heads=problem.query_heads, kv_num_heads=problem.kv_heads)
    running = session("Attention", "", inputs, [("o", element, rank)], attributes, threads)
    if rank == 3:
        calls, arrange = sequences(problem, padded)
    else:
        stored = NUMPY[problem.dtype]
        calls = [[x.astype(stored) for x in (problem.q, problem.k, problem.v)]]
        arrange = lambda outs: outs[0]
    bound = []
    for q, k, v in calls:
        feeds = {"q": q, "k": k, "v": v}
        if problem.mask is not None:
            feeds["mask"] = problem.mask
        bound.append(Bound(running, feeds, {"o": np.zeros_like(q)}))
    return Runner(bound, arrange)


def layer_runner(problem, nodes, constants, threads):
    running = graph_session(nodes, [("x", TensorProto.FLOAT, 3)], [("o", TensorProto.FLOAT, 3)],
                            threads, constants)
    bound = Bound(running, {"x": problem.q}, {"o": np.zeros_like(problem.q)})
    return Runner([bound], lambda outs: outs[0])


def layer_of_products(problem, threads):
    """One product for Q, K and V, the attention, one for W_O."""
    w_qkv = np.concatenate([problem.k[0], problem.k[1], problem.v[0]], axis=1)
    nodes = [
        helper.make_node("MatMul", ["x", "w_qkv"], ["qkv"]),
        helper.make_node("Split", ["qkv"], ["q", "k", "v"], axis=2, num_outputs=3),
        helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["y"], domain=CONTRIB,
                         num_heads=problem.query_heads, scale=problem.scale),
        helper.make_node("MatMul", ["y", "w_o"], ["o"])]
    return layer_runner(problem, nodes, {"w_qkv": w_qkv, "w_o": problem.v[1]}, threads)


def layer_of_attention(problem, threads):
    """The contributed Attention, which takes the weights of Q, K and V with a bias."""
    w_qkv = np.concatenate([problem.k[0], problem.k[1], problem.v[0]], axis=1)
    nodes = [
        helper.make_node("Attention", ["x", "w_qkv", "b_qkv"], ["y"], domain=CONTRIB,
                         num_heads=problem.query_heads, scale=problem.scale),
        helper.make_node("MatMul", ["y", "w_o"], ["o"])]
    zeros = np.zeros(w_qkv.shape[1], np.float32)
    return layer_runner(problem, nodes,
                        {"w_qkv": w_qkv, "b_qkv": zeros, "w_o": problem.v[1]}, threads)


def variants(problem):
    if problem.dtype not in ELEMENTS:
        raise worker.Absent("has no bf16 on CPUs")
    if problem.kind == "layer":
        return {"MatMul, MultiHeadAttention": lambda threads: layer_of_products(problem, threads),
                "Attention (com.microsoft)": lambda threads: layer_of_attention(problem, threads)}
    ways = {"Attention": attention}
    if problem.query_heads == problem.kv_heads and problem.dtype == "f32":
        ways["MultiHeadAttention"] = multi_head_attention
    if problem.causal or problem.kind == "decode":
        ways["GroupQueryAttention"] = group_query_attention
    if not problem.lengths:
        return {name: lambda threads, make=make: make(problem, threads) for name, make in ways.items()}
    return {f"{name}, {how}": lambda threads, make=make, padded=padded: make(problem, threads, padded)
            for name, make in ways.items() for how, padded in worker.RAGGED_WAYS.items()}


if __name__ == "__main__":
    worker.serve(sys.modules[__name__])
