// heed._core.KVCache and PagedKVCache: the C++ caches, with NumPy at their edges.
#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>

#include "arrays.h"
#include "heed/kv_cache.h"
#include "module.h"
#include "options.h"

namespace heed::python {
namespace {

// A cache that threads of Python may reach at the same time: readers together, a change alone, and
// whoever comes at the wrong time is refused, for waiting could block on the GIL. Readers may come
// from within each other, as a score_mod that asks for the length does.
template <class Cache>
class Guarded {
 public:
  explicit Guarded(Cache cache) : cache_(std::move(cache)) {}

  template <class F>
  auto read(F&& f) const {
    int users = users_;
    do {
      if (users == kChanging)
        throw std::runtime_error("the cache is being changed by another thread");
    } while (!users_.compare_exchange_weak(users, users + 1));
    const Leave leave{users_, -1};
    return f(cache_);
  }
  template <class F>
  auto change(F&& f) {
    int users = 0;
    if (!users_.compare_exchange_strong(users, kChanging))
      throw std::runtime_error("the cache is in use, by another thread or a score_mod");
    const Leave leave{users_, -kChanging};
    return f(cache_);
  }

 private:
  static constexpr int kChanging = -1;  // in place of a number of readers
  struct Leave {
    std::atomic<int>& users;
    int by;
    ~Leave() { users += by; }
  };
  Cache cache_;
  mutable std::atomic<int> users_{0};
};
using Contiguous = Guarded<KVCache>;
using Paged = Guarded<PagedKVCache>;

// Calls a member function that only reads.
template <auto Get, class Cache>
auto get(const Guarded<Cache>& cache) {
  return cache.read([](const Cache& c) { return (c.*Get)(); });
}

DType cache_dtype(const py::object& given) {
  const bool named = py::isinstance<py::str>(given) && given.cast<std::string>() == "bfloat16";
  const std::string name =
      named ? "bfloat16" : py::dtype::from_args(given).attr("name").cast<std::string>();
  if (name == "float32") return DType::f32;
  if (name == "float16") return DType::f16;
  if (name == "bfloat16") return DType::bf16;
  if (name == "int8") return DType::i8;
  throw py::type_error("dtype is " + name + ", expected float32, float16, bfloat16 or int8");
}

std::string python_name(DType dtype) {
  switch (dtype) {
    case DType::f16: return "float16";
    case DType::bf16: return "bfloat16";
    case DType::i8: return "int8";
    default: return "float32";
  }
}

// New tokens: an array of a type that caches take.
ConstTensorView tokens_of(Array& array, const py::object& given, const char* name) {
  array = as_array(given, name);
  if (array.dtype != DType::f32 && array.dtype != DType::f16 && array.dtype != DType::bf16)
    throw py::type_error(std::string(name) + " is " + std::string(name_of(array.dtype)) +
                         ", expected float32, float16 or bfloat16");
  return input_tensor(array, name);
}

struct KeyValue {
  Array k, v;
  ConstTensorView key, value;

  KeyValue(const py::object& key_, const py::object& value_)
      : key(tokens_of(k, key_, "key")), value(tokens_of(v, value_, "value")) {}
};

// The queries of a call and where its results go.
struct Call {
  Array query;
  ConstTensorView q;
  py::object out;
  TensorView o;
  py::array lse;
  RowView rows;

  Call(const py::object& given, std::size_t value_dim, bool ragged, bool return_lse,
       const py::object& out_)
      : query(as_array(given, "query")), out(out_) {
    q = ragged ? ragged_tensor(query, "query") : input_tensor(query, "query");
    std::vector<std::size_t> shape(query.shape.begin(), query.shape.begin() + query.ndim - 1);
    if (return_lse) {
      lse = new_array(DType::f32, shape);
      auto* data = static_cast<float*>(lse.mutable_data());
      rows = ragged ? RowView{data, 0, 1, static_cast<std::ptrdiff_t>(q.heads)}
                    : heed::rows(data, q.heads, q.tokens);
    }
    shape.push_back(value_dim);
    if (out.is_none()) out = new_array(query.dtype, shape);
    const Array output = as_array(out, "out");
    o = ragged ? ragged_output(output, "out") : output_tensor(output, "out");
  }

  py::object result() const { return rows ? py::make_tuple(out, lse) : out; }
};

// A copy of rows as NumPy has them; int8 as the float32 numbers that its rows stand for.
py::array copy_of(ConstTensorView rows, ScaleView scales) {
  const bool int8 = rows.dtype == DType::i8;
  const std::array<std::size_t, 4> shape = {rows.batch, rows.heads, rows.tokens, rows.dim};
  py::array copy = new_array(int8 ? DType::f32 : rows.dtype, shape);
  auto* to = static_cast<std::byte*>(copy.mutable_data());
  for (std::size_t b = 0; b < rows.batch; ++b)
    for (std::size_t h = 0; h < rows.heads; ++h)
      for (std::size_t t = 0; t < rows.tokens; ++t) {
        const auto at = [&](const auto& view) {
          return static_cast<std::ptrdiff_t>(b) * view.batch_stride +
                 static_cast<std::ptrdiff_t>(h) * view.head_stride +
                 static_cast<std::ptrdiff_t>(t) * view.token_stride;
        };
        if (int8) {
          const auto* row = static_cast<const std::int8_t*>(rows.data) + at(rows);
          auto* numbers = reinterpret_cast<float*>(to);
          for (std::size_t c = 0; c < rows.dim; ++c)
            numbers[c] = static_cast<float>(row[c]) * scales.data[at(scales)];
          to += rows.dim * sizeof(float);
        } else {
          const std::size_t bytes = rows.dim * size_of(rows.dtype);
          std::memcpy(to,
                      static_cast<const std::byte*>(rows.data) +
                          at(rows) * static_cast<std::ptrdiff_t>(size_of(rows.dtype)),
                      bytes);
          to += bytes;
        }
      }
  return copy;
}

void bind_contiguous(py::module_& m) {
  py::class_<Contiguous>(m, "KVCache")
      .def(py::init([](std::size_t batch, std::size_t kv_heads, std::size_t key_dim,
                       std::optional<std::size_t> value_dim, const py::object& dtype,
                       std::size_t capacity) {
        return std::make_unique<Contiguous>(KVCache({.batch = batch,
                                                     .kv_heads = kv_heads,
                                                     .key_dim = key_dim,
                                                     .value_dim = value_dim,
                                                     .dtype = cache_dtype(dtype),
                                                     .capacity = capacity}));
      }))
      .def("append",
           [](Contiguous& cache, const py::object& key, const py::object& value) {
             const KeyValue tokens(key, value);
             cache.change([&](KVCache& c) { c.append(tokens.key, tokens.value); });
           })
      .def("truncate",
           [](Contiguous& cache, std::size_t length) {
             cache.change([&](KVCache& c) { c.truncate(length); });
           })
      .def("attention",
           [](const Contiguous& cache, const py::object& query, const Keywords& keywords,
              bool return_lse, const py::object& out) {
             Options options(keywords);
             const Call call(query, get<&KVCache::value_dim>(cache), false, return_lse, out);
             options.run([&] {
               cache.read([&](const KVCache& c) {
                 attention(call.q, c, call.o, call.rows, options.attention, options.execution);
               });
             });
             return call.result();
           })
      .def_property_readonly(
          "keys",
          [](const Contiguous& cache) {
            return cache.read([](const KVCache& c) { return copy_of(c.keys(), c.key_scales()); });
          })
      .def_property_readonly("values",
                             [](const Contiguous& cache) {
                               return cache.read([](const KVCache& c) {
                                 return copy_of(c.values(), c.value_scales());
                               });
                             })
      .def_property_readonly("length", &get<&KVCache::length, KVCache>)
      .def_property_readonly("capacity", &get<&KVCache::capacity, KVCache>)
      .def_property_readonly("batch", &get<&KVCache::batch, KVCache>)
      .def_property_readonly("kv_heads", &get<&KVCache::kv_heads, KVCache>)
      .def_property_readonly("nbytes", &get<&KVCache::bytes, KVCache>)
      .def_property_readonly("dtype", [](const Contiguous& cache) {
        return python_name(get<&KVCache::dtype>(cache));
      });
}

using Attend = void (*)(ConstTensorView, const PagedKVCache&, std::span<const SequenceId>,
                        TensorView, RowView, const AttentionOptions&, const Execution&);

py::object attend(const Paged& cache, const std::vector<SequenceId>& sequences,
                  const py::object& query, const Keywords& keywords, bool return_lse,
                  const py::object& out, Attend how) {
  Options options(keywords, Options::Keys::cached);
  const Call call(query, get<&PagedKVCache::value_dim>(cache), options.ragged(), return_lse, out);
  options.run([&] {
    cache.read([&](const PagedKVCache& c) {
      how(call.q, c, sequences, call.o, call.rows, options.attention, options.execution);
    });
  });
  return call.result();
}

void bind_paged(py::module_& m) {
  using Ids = std::vector<SequenceId>;
  py::class_<Paged>(m, "PagedKVCache")
      .def(py::init([](std::size_t kv_heads, std::size_t key_dim,
                       std::optional<std::size_t> value_dim, const py::object& dtype,
                       std::size_t pages, std::size_t page_size) {
        return std::make_unique<Paged>(PagedKVCache({.kv_heads = kv_heads,
                                                     .key_dim = key_dim,
                                                     .value_dim = value_dim,
                                                     .dtype = cache_dtype(dtype),
                                                     .pages = pages,
                                                     .page_size = page_size}));
      }))
      .def("add",
           [](Paged& cache) { return cache.change([](PagedKVCache& c) { return c.add(); }); })
      .def("fork",
           [](Paged& cache, SequenceId sequence, std::optional<std::size_t> length) {
             return cache.change([&](PagedKVCache& c) { return c.fork(sequence, length); });
           })
      .def("remove",
           [](Paged& cache, SequenceId sequence) {
             cache.change([&](PagedKVCache& c) { c.remove(sequence); });
           })
      .def("truncate",
           [](Paged& cache, SequenceId sequence, std::size_t length) {
             cache.change([&](PagedKVCache& c) { c.truncate(sequence, length); });
           })
      .def("append",
           [](Paged& cache, const Ids& sequences, const py::object& key, const py::object& value) {
             const KeyValue tokens(key, value);
             cache.change([&](PagedKVCache& c) { c.append(sequences, tokens.key, tokens.value); });
           })
      .def("length",
           [](const Paged& cache, SequenceId sequence) {
             return cache.read([&](const PagedKVCache& c) { return c.length(sequence); });
           })
      .def("shared_prefix",
           [](const Paged& cache, const Ids& sequences) {
             return cache.read([&](const PagedKVCache& c) { return c.shared_prefix(sequences); });
           })
      .def("block_table",
           [](const Paged& cache, SequenceId sequence) {
             return cache.read([&](const PagedKVCache& c) {
               const auto table = c.block_table(sequence);
               return std::vector<std::int32_t>(table.begin(), table.end());
             });
           })
      .def("attention",
           [](const Paged& cache, const Ids& sequences, const py::object& query,
              const Keywords& keywords, bool return_lse, const py::object& out) {
             return attend(cache, sequences, query, keywords, return_lse, out, &attention);
           })
      .def("cascade_attention",
           [](const Paged& cache, const Ids& sequences, const py::object& query,
              const Keywords& keywords, bool return_lse, const py::object& out) {
             return attend(cache, sequences, query, keywords, return_lse, out, &cascade_attention);
           })
      .def_property_readonly("pages", &get<&PagedKVCache::pages, PagedKVCache>)
      .def_property_readonly("free_pages", &get<&PagedKVCache::free_pages, PagedKVCache>)
      .def_property_readonly("page_size", &get<&PagedKVCache::page_size, PagedKVCache>)
      .def_property_readonly("sequences", &get<&PagedKVCache::sequences, PagedKVCache>)
      .def_property_readonly("nbytes", &get<&PagedKVCache::bytes, PagedKVCache>)
      .def_property_readonly("dtype", [](const Paged& cache) {
        return python_name(get<&PagedKVCache::dtype>(cache));
      });
}

}  // namespace

void bind_cache(py::module_& m) {
  bind_contiguous(m);
  bind_paged(m);
}

}  // namespace heed::python
