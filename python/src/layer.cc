// heed._core.MultiHeadAttention: the layer on Python arrays.
#include "heed/layer.h"

#include "arrays.h"
#include "module.h"
#include "options.h"

namespace heed::python {
namespace {

// Where tokens stand, as Python gives it: None, the place of the first, or one per token.
class Places {
 public:
  Places(const py::object& given, const char* name) {
    if (given.is_none()) return;
    positions_.emplace();
    if (is_integer(given)) {
      positions_->first = given.cast<std::int64_t>();
    } else {
      each_ = integers(given, name);
      positions_->each = each_;
    }
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  const std::optional<Positions>& operator*() const { return positions_; }

 private:
  std::vector<std::int64_t> each_;
  std::optional<Positions> positions_;
};

// (in, out) of any strides.
WeightView weight_view(const Array& array, const char* name) {
  require_rank(array, 2, 2, name, "(in, out)");
  return {array.data,     array.dtype,      array.shape[0],
          array.shape[1], array.strides[0], array.strides[1]};
}

VectorView vector_view(const Array& array, const char* name) {
  require_rank(array, 1, 1, name, "one axis");
  if (array.shape[0] > 1 && array.strides[0] != 1)
    throw py::value_error(std::string(name) + ": expected a contiguous array");
  return {array.data, array.dtype, array.shape[0]};
}

// An optional vector of numbers; `array` keeps it alive.
VectorView vector_view(const py::object& given, Array& array, const char* name) {
  if (given.is_none()) return {};
  array = as_array(given, name);
  return vector_view(array, name);
}

// (tokens, dim) or (batch, tokens, dim).
SequenceView sequence_view(const Array& array, const char* name) {
  require_rank(array, 2, 3, name, "(tokens, dim) or (batch, tokens, dim)");
  const bool batched = array.ndim == 3;
  return {array.data,
          array.dtype,
          batched ? array.shape[0] : 1,
          array.from_end(1),
          array.from_end(0),
          batched ? array.strides[0] : 0,
          array.strides[array.ndim - 2]};
}

// One part of a row of `width` numbers, cut evenly into heads.
std::size_t head_size(std::size_t width, std::size_t heads, const char* name) {
  if (heads == 0 || width % heads != 0)
    throw py::value_error(std::string(name) + " has " + std::to_string(width) +
                          " columns, which is no multiple of " + std::to_string(heads) + " heads");
  return width / heads;
}

RotaryPairs rotary_pairs(const std::string& name) {
  if (name == "half_split") return RotaryPairs::half_split;
  if (name == "interleaved") return RotaryPairs::interleaved;
  throw py::value_error("rotary pairs is '" + name + "', expected 'half_split' or 'interleaved'");
}

// heed.Rotary(base, scaling, pairs, dims)
std::optional<Rotary> rotary_of(const py::object& given) {
  if (given.is_none()) return {};
  Rotary rotary;
  rotary.base = given.attr("base").cast<double>();
  rotary.scaling = given.attr("scaling").cast<double>();
  rotary.pairs = rotary_pairs(given.attr("pairs").cast<std::string>());
  rotary.dims = given.attr("dims").cast<std::optional<std::size_t>>();
  return rotary;
}

// The four weights w_q, w_k, w_v, w_o, and their biases in the same order.
MultiHeadAttention make_layer(const std::vector<py::object>& weights,
                              const std::vector<py::object>& biases, std::size_t heads,
                              std::optional<std::size_t> kv_heads, const py::object& rotary,
                              const py::object& qk_norm) {
  const Array w_q = as_array(weights.at(0), "w_q"), w_k = as_array(weights.at(1), "w_k"),
              w_v = as_array(weights.at(2), "w_v"), w_o = as_array(weights.at(3), "w_o");
  Array b_q, b_k, b_v, b_o, norm_q, norm_k;
  const MultiHeadWeights views = {.query = weight_view(w_q, "w_q"),
                                  .key = weight_view(w_k, "w_k"),
                                  .value = weight_view(w_v, "w_v"),
                                  .output = weight_view(w_o, "w_o"),
                                  .query_bias = vector_view(biases.at(0), b_q, "b_q"),
                                  .key_bias = vector_view(biases.at(1), b_k, "b_k"),
                                  .value_bias = vector_view(biases.at(2), b_v, "b_v"),
                                  .output_bias = vector_view(biases.at(3), b_o, "b_o")};
  MultiHeadConfig config;
  config.d_model = views.query.in;
  config.d_context = views.key.in;
  config.query_heads = heads;
  config.kv_heads = kv_heads.value_or(heads);
  config.key_dim = head_size(views.query.out, heads, "w_q");
  config.value_dim = head_size(views.value.out, *config.kv_heads, "w_v");
  config.rotary = rotary_of(rotary);
  if (!qk_norm.is_none())
    config.qk_norm = QkNorm{vector_view(qk_norm.attr("query"), norm_q, "qk_norm.query"),
                            vector_view(qk_norm.attr("key"), norm_k, "qk_norm.key"),
                            qk_norm.attr("epsilon").cast<double>()};
  return MultiHeadAttention(config, views);
}

py::object run_layer(const MultiHeadAttention& layer, const py::object& x,
                     const py::object& context, const Keywords& keywords,
                     const py::object& query_positions, const py::object& key_positions,
                     const py::object& out) {
  Options options(keywords);
  Array input = as_array(x, "x"), other;
  const ConstSequenceView y = sequence_view(with_contiguous_rows(input, "x"), "x");
  py::object result = out;
  if (out.is_none()) {
    std::vector<std::size_t> shape(input.shape.begin(), input.shape.begin() + input.ndim);
    shape.back() = layer.d_model();
    result = new_array(input.dtype, shape);
  }
  const Array output = as_array(result, "out");
  require_output(output, "out");
  const SequenceView o = sequence_view(output, "out");
  const Places of_queries(query_positions, "query_positions"),
      of_keys(key_positions, "key_positions");
  const LayerOptions behaviour = {options.attention, *of_queries, *of_keys};
  if (context.is_none()) {
    options.run([&] { layer.self_attention(y, o, behaviour, options.execution); });
  } else {
    other = as_array(context, "context");
    const ConstSequenceView z = sequence_view(with_contiguous_rows(other, "context"), "context");
    options.run([&] { layer.cross_attention(y, z, o, behaviour, options.execution); });
  }
  return result;
}

}  // namespace

void bind_layer(py::module_& m) {
  using Layer = MultiHeadAttention;
  py::class_<Layer>(m, "MultiHeadAttention")
      .def(py::init(&make_layer))
      .def("run", &run_layer)
      .def_property_readonly("d_model", &Layer::d_model)
      .def_property_readonly("d_context", &Layer::d_context)
      .def_property_readonly("query_heads", &Layer::query_heads)
      .def_property_readonly("kv_heads", &Layer::kv_heads)
      .def_property_readonly("key_dim", &Layer::key_dim)
      .def_property_readonly("value_dim", &Layer::value_dim)
      .def_property_readonly("parameter_count", &Layer::parameter_count);
}

}  // namespace heed::python
