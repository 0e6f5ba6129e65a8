#include "options.h"

#include <string>

#include "heed/error.h"

namespace heed::python {
namespace {

std::string type_name(const py::object& object) {
  return py::str(py::type::of(object).attr("__name__"));
}

// `given` as a T, or nothing for None; TypeError says what was expected.
template <class T>
std::optional<T> number(const py::object& given, const char* name, const char* expected) {
  if (given.is_none()) return {};
  try {
    return given.cast<T>();
  } catch (const py::cast_error&) {
    throw py::type_error(std::string(name) + ": expected " + expected + " or None, got " +
                         type_name(given));
  }
}

std::optional<double> real(const py::object& given, const char* name) {
  return number<double>(given, name, "a number");
}

std::optional<std::int64_t> integer(const py::object& given, const char* name) {
  return number<std::int64_t>(given, name, "an integer");
}

Causal alignment(const py::object& given) {
  const auto name = number<std::string>(given, "causal_alignment", "a string");
  if (name == "upper_left") return Causal::upper_left;
  if (name == "lower_right") return Causal::lower_right;
  throw py::value_error("causal_alignment is '" + name.value_or("None") +
                        "', expected 'upper_left' or 'lower_right'");
}

std::size_t threads_of(const py::object& given) {
  const std::int64_t threads = integer(given, "threads").value_or(0);
  if (threads < 0 || (threads == 0 && !given.is_none()))
    throw py::value_error("threads is " + std::to_string(threads) + ", expected at least 1");
  return static_cast<std::size_t>(threads);
}

// Keeps `given` as numbers of heed's, if it is given at all.
template <class T>
void take(const py::object& given, std::vector<T>& kept, std::span<const T>& view,
          std::vector<T> (*convert)(const py::object&, std::string_view), const char* name) {
  if (given.is_none()) return;
  kept = convert(given, name);
  view = kept;
}

}  // namespace

Options::Options(const Keywords& keywords, Keys keys) {
  attention.scale = real(keywords.scale, "scale");
  attention.softcap = real(keywords.softcap, "softcap");
  if (!keywords.attn_mask.is_none()) {
    mask_ = as_array(keywords.attn_mask, "attn_mask");
    (mask_.dtype == DType::boolean ? attention.mask : attention.bias) =
        score_view(mask_, "attn_mask");
  }
  take_positions(keywords);
  take_lists(keywords, keys);
  take_score_mod(keywords.score_mod);
  execution.threads = threads_of(keywords.threads);
  execution.progress = run_.progress();
}

// Which keys a query may see by where they stand.
void Options::take_positions(const Keywords& keywords) {
  const Causal aligned = alignment(keywords.causal_alignment);
  if (number<bool>(keywords.is_causal, "is_causal", "a bool").value_or(false))
    attention.causal = aligned;
  if (!py::isinstance<py::sequence>(keywords.window) || py::len(keywords.window) != 2)
    throw py::value_error("window is " + py::repr(keywords.window).cast<std::string>() +
                          ", expected (left, right)");
  const auto window = py::reinterpret_borrow<py::sequence>(keywords.window);
  attention.window_left = integer(window[0], "window[0]");
  attention.window_right = integer(window[1], "window[1]");
  if (is_integer(keywords.query_offset))
    attention.query_offset = integer(keywords.query_offset, "query_offset");
  else
    take(keywords.query_offset, query_offsets_, attention.query_offsets, integers, "query_offset");
}

void Options::take_lists(const Keywords& keywords, Keys keys) {
  if (keys == Keys::given && keywords.cu_seqlens_q.is_none() != keywords.cu_seqlens_k.is_none())
    throw py::value_error("cu_seqlens_q and cu_seqlens_k: give both or neither");
  take(keywords.cu_seqlens_q, cu_seqlens_q_, attention.cu_seqlens_q, integers, "cu_seqlens_q");
  take(keywords.cu_seqlens_k, cu_seqlens_k_, attention.cu_seqlens_k, integers, "cu_seqlens_k");
  take(keywords.kv_lengths, key_lengths_, attention.key_lengths, integers, "kv_lengths");
  take(keywords.alibi_slopes, alibi_slopes_, attention.alibi_slopes, floats, "alibi_slopes");
  take(keywords.sinks, sinks_, attention.sinks, floats, "sinks");
}

void Options::take_score_mod(const py::object& given) {
  if (given.is_none()) return;
  if (PyCallable_Check(given.ptr()) == 0)
    throw py::type_error("score_mod: expected a callable, got " + type_name(given));
  score_mod_ = given;
  attention.score_mod = {&Options::call_score_mod, nullptr, this};
}

// Hands the tile to Python as an array that shares its memory: f(scores, batch, head, query, key).
void Options::call_score_mod(const ScoreTile<float>& tile, void* self) noexcept {
  auto& options = *static_cast<Options*>(self);
  const py::gil_scoped_acquire acquire;
  if (options.run_.ending()) return;
  try {
    const auto rows = static_cast<py::ssize_t>(tile.rows),
               cols = static_cast<py::ssize_t>(tile.cols);
    const auto stride = static_cast<py::ssize_t>(tile.stride * sizeof(float));
    const py::array_t<float> scores({rows, cols}, {stride, py::ssize_t{sizeof(float)}}, tile.s,
                                    py::none());
    options.score_mod_(scores, tile.batch, tile.head, tile.query, tile.key);
  } catch (...) {
    options.run_.end_with(std::current_exception());
  }
}

}  // namespace heed::python
