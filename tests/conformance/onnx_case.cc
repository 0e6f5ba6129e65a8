#include "tests/conformance/onnx_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <utility>

#include "heed/error.h"

namespace heed::conformance {
namespace {

using Json = nlohmann::json;

Json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw Error(path.string() + ": cannot be read");
  return Json::parse(file);
}

// A case while it is being put together.
struct Reader {
  OnnxCase result;
  Json attributes;
  std::map<std::string, io::Array> tensors;  // by the name the operator gives them

  const io::Array* find(const std::string& name) const {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : &found->second;
  }
  // Keeps the array alive with the case and gives where its elements are.
  const io::Array& keep(io::Array array) { return result.arrays.emplace_back(std::move(array)); }
  std::int64_t attribute(const char* name, std::int64_t otherwise) const {
    return attributes.value(name, otherwise);
  }
};

ConstTensorView view_of(const io::Array& array, std::size_t batch, std::size_t heads,
                        std::size_t tokens, std::size_t dim, bool tokens_first) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(array.bytes.data());
  ConstTensorView view = tokens_first ? bnhd(bytes, batch, tokens, heads, dim)
                                      : bhnd(bytes, batch, heads, tokens, dim);
  view.dtype = array.dtype;
  return view;
}

// [B, H, N, d], or [B, N, H d] with the number of heads from an attribute.
ConstTensorView view_of(const io::Array& array, std::int64_t heads) {
  const io::Shape& s = array.shape;
  if (s.size() == 4) return view_of(array, s[0], s[1], s[2], s[3], false);
  const auto h = static_cast<std::size_t>(heads);
  return view_of(array, s[0], h, s[1], s[2] / h, true);
}

// past [B, H, P, d] and then the tokens of `now`, contiguous [B, H, P + L, d].
io::Array joined(const io::Array& past, ConstTensorView now) {
  const std::size_t width = size_of(now.dtype) * now.dim;
  const std::size_t before = past.shape[2];
  io::Array all(now.dtype, {now.batch, now.heads, before + now.tokens, now.dim});
  std::byte* out = all.bytes.data();
  const std::byte* old = past.bytes.data();
  const auto* data = static_cast<const std::byte*>(now.data);
  for (std::size_t b = 0; b < now.batch; ++b)
    for (std::size_t h = 0; h < now.heads; ++h) {
      std::memcpy(out, old, before * width);
      out += before * width;
      old += before * width;
      for (std::size_t n = 0; n < now.tokens; ++n, out += width) {
        const auto index = static_cast<std::ptrdiff_t>(b) * now.batch_stride +
                           static_cast<std::ptrdiff_t>(h) * now.head_stride +
                           static_cast<std::ptrdiff_t>(n) * now.token_stride;
        std::memcpy(out, data + index * static_cast<std::ptrdiff_t>(size_of(now.dtype)), width);
      }
    }
  return all;
}

ConstTensorView keys_or_values(Reader& reader, const char* name, const char* past) {
  const ConstTensorView now =
      view_of(reader.keep(*reader.find(name)), reader.attribute("kv_num_heads", 0));
  if (reader.find(past) == nullptr) return now;
  return view_of(reader.keep(joined(*reader.find(past), now)), 0);
}

// The same mask with `keys` columns: hidden where it was too short.
io::Array widened(const io::Array& mask, std::size_t keys) {
  const std::size_t have = mask.shape.back(), rows = have == 0 ? 0 : mask.size() / have;
  io::Shape shape = mask.shape;
  shape.back() = keys;
  io::Array wide(mask.dtype, shape);
  const std::size_t size = size_of(mask.dtype);
  io::Array hidden(mask.dtype, {1});
  if (mask.dtype != DType::boolean)
    hidden = io::convert(io::array_of<double>({1}, {-INFINITY}), mask.dtype);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t j = 0; j < keys; ++j)
      std::memcpy(wide.bytes.data() + (r * keys + j) * size,
                  j < have ? mask.bytes.data() + (r * have + j) * size : hidden.bytes.data(), size);
  return wide;
}

// Broadcasts from the right, as NumPy does.
ScoreView score_view(const io::Array& mask) {
  ScoreView view{.data = mask.bytes.data(), .dtype = mask.dtype};
  std::ptrdiff_t stride = 1;
  for (std::size_t axis = 4, rank = mask.shape.size(); axis-- > 0 && rank > 0;) {
    view.sizes[axis] = mask.shape[--rank];
    view.strides[axis] = stride;
    stride *= static_cast<std::ptrdiff_t>(mask.shape[rank]);
  }
  return view;
}

void read_mask(Reader& reader) {
  const io::Array* mask = reader.find("attn_mask");
  if (mask == nullptr) return;
  io::Array values = *mask;
  const bool hides = values.dtype == DType::boolean;
  const auto floats = {DType::f32, DType::f16, DType::bf16, DType::f64};
  if (!hides && std::find(floats.begin(), floats.end(), values.dtype) == floats.end())
    values = io::convert(values, DType::f64);  // whole numbers are added too
  const std::size_t keys = reader.result.k.tokens;
  if (values.shape.back() != 1 && values.shape.back() < keys) values = widened(values, keys);
  const ScoreView view = score_view(reader.keep(std::move(values)));
  (hides ? reader.result.options.mask : reader.result.options.bias) = view;
}

// Causal, windows and lengths; where query 0 stands is always stated.
void read_positions(Reader& reader) {
  OnnxCase& c = reader.result;
  const auto queries = static_cast<std::int64_t>(c.q.tokens);
  if (reader.attribute("is_causal", 0) != 0) c.options.causal = Causal::upper_left;
  const std::int64_t left = reader.attribute("left_window_size", -1),
                     right = reader.attribute("right_window_size", -1);
  if (left >= 0) c.options.window_left = left;
  if (right >= 0) c.options.window_right = right;
  if (const io::Array* lengths = reader.find("nonpad_kv_seqlen")) {
    for (const std::int64_t length : lengths->as<std::int64_t>()) {
      c.key_lengths.push_back(length);
      c.query_offsets.push_back(length - queries);
    }
    c.options.key_lengths = c.key_lengths;
    c.options.query_offsets = c.query_offsets;
  } else {
    const io::Array* past = reader.find("past_key");
    c.options.query_offset = past == nullptr ? 0 : static_cast<std::int64_t>(past->shape[2]);
  }
}

void read_expected(Reader& reader) {
  OnnxCase& c = reader.result;
  c.y = view_of(reader.keep(io::convert(*reader.find("Y"), DType::f64)),
                reader.attribute("q_num_heads", 0));
  if (const io::Array* scores = reader.find("qk_matmul_output")) {
    c.scores = view_of(reader.keep(io::convert(*scores, DType::f64)), 0);
    c.stage = static_cast<ScoreStage>(reader.attribute("qk_matmul_output_mode", 0));
  }
  if (const io::Array* key = reader.find("present_key")) c.present_key = *key;
  if (const io::Array* value = reader.find("present_value")) c.present_value = *value;
}

std::string reason_it_cannot_be(const Json& attributes) {
  if (attributes.contains("prob_mod"))
    return "prob_mod changes the weights after the softmax, which no option of heed does";
  if (attributes.contains("score_mod"))
    return "score_mod is an ONNX graph, which heed does not interpret";
  return "";
}

}  // namespace

std::vector<std::filesystem::path> onnx_case_folders() {
  std::vector<std::filesystem::path> folders;
  const std::filesystem::path root = HEED_SHARED_DIR "/conformance/onnx";
  if (!std::filesystem::is_directory(root)) return folders;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    // LinearAttention (test_linear_attention_*) is another operator.
    if (name.starts_with("test_attention_") || name.starts_with("test_flexattention"))
      folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

OnnxCase read_onnx_case(const std::filesystem::path& folder) {
  const Json json = read_json(folder / "case.json");
  Reader reader;
  reader.attributes = json.at("attributes");
  for (const Json& tensor : json.at("tensors")) {
    const auto file = folder / tensor.at("file").get<std::string>();
    reader.tensors[tensor.at("node_name").get<std::string>()] = io::read(file.string());
  }
  OnnxCase& c = reader.result;
  c.name = json.at("name");
  c.cannot = reason_it_cannot_be(reader.attributes);
  c.rtol = json.at("onnx_tolerance").at("rtol");
  c.atol = json.at("onnx_tolerance").at("atol");
  c.q = view_of(reader.keep(*reader.find("Q")), reader.attribute("q_num_heads", 0));
  c.k = keys_or_values(reader, "K", "past_key");
  c.v = keys_or_values(reader, "V", "past_value");
  if (reader.attributes.contains("scale")) c.options.scale = reader.attributes["scale"];
  const float softcap = reader.attributes.value("softcap", 0.0f);  // 0: none
  if (softcap != 0) c.options.softcap = softcap;
  // softmax_precision asks for a precision of the softmax: heed's is float or better, always.
  read_mask(reader);
  read_positions(reader);
  read_expected(reader);
  return std::move(c);
}

std::string difference(const Entry& got, ConstTensorView expected, double rtol, double atol) {
  for (std::size_t b = 0; b < expected.batch; ++b)
    for (std::size_t h = 0; h < expected.heads; ++h)
      for (std::size_t i = 0; i < expected.tokens; ++i)
        for (std::size_t j = 0; j < expected.dim; ++j) {
          const auto index = static_cast<std::ptrdiff_t>(b) * expected.batch_stride +
                             static_cast<std::ptrdiff_t>(h) * expected.head_stride +
                             static_cast<std::ptrdiff_t>(i) * expected.token_stride +
                             static_cast<std::ptrdiff_t>(j);
          const double want = static_cast<const double*>(expected.data)[index];
          const double have = got(b, h, i, j);
          const double room = std::isfinite(want) ? atol + rtol * std::abs(want) : 0;
          if (have == want || std::abs(have - want) <= room) continue;
          std::ostringstream text;
          text << "[" << b << ", " << h << ", " << i << ", " << j << "] is " << have
               << ", expected " << want << " within " << atol << " + " << rtol << " * |expected|";
          return text.str();
        }
  return "";
}

}  // namespace heed::conformance
