// Tensors in files: .npy, .npz and safetensors, read and written.
//
//   heed::io::Array x = heed::io::read("x.npy");
//   heed::io::Array k = heed::io::read("cache.npz:key");       // file:name picks one of several
//   heed::io::write_npy("y.npy", y);
//
//   heed::io::TensorFile model("model.safetensors.index.json");  // whichever format the bytes are
//   heed::io::ArrayView w = model.view("layers.0.attn.w_q");     // in place where the file allows
//
// An array in memory is always C order (last axis contiguous) and in this machine's byte order,
// whatever the file says: Fortran order is transposed and foreign endianness swapped on reading.
// Booleans are 0 or 1.
//
// Reading trusts nothing: sizes are checked for overflow and against the bytes that are there
// before anything is allocated, and every refusal is a heed::Error that names the file, the place
// and both values ("q.npy: shape (2, 3) of f32 needs 24 bytes but 20 follow the header").
// Files are memory-mapped where the system can; a file must not be shortened while it is in use.
//
// Writing is all or nothing: bytes go to a temporary file in the same folder, reach the disk, and
// then take the name. A write that fails or is abandoned leaves the old file as it was and no
// temporary file behind.
//
// bfloat16 in .npy: NumPy has no such type. heed writes what the ml_dtypes package writes, two-byte
// void elements ('<V2'), and reads those back only when ReadOptions::bf16_from_v2 says that this is
// what they are. safetensors names bfloat16 itself.
//
// Thread safety: functions may be called from any thread; const members of TensorFile too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/dtype.h"
#include "heed/error.h"

namespace heed::io {

// Sizes of the axes, outermost first. Empty: a single number.
using Shape = std::vector<std::size_t>;

// "(2, 3)", "(5,)", "()": as NumPy writes it.
std::string to_string(const Shape& shape);

// How many elements; throws when their number would not fit in memory.
std::size_t element_count(const Shape& shape);

// A contiguous array that someone else keeps alive. Aligned for its element type.
struct ArrayView {
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;  // element_count(shape) * size_of(dtype) of them

  std::size_t size() const { return bytes.size() / size_of(dtype); }  // in elements

  // The elements, for T the C++ type of dtype; throws when it is another.
  template <class T>
  std::span<const T> as() const;
};

// A contiguous array that owns its elements.
struct Array {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;

  Array() = default;
  Array(DType dtype, Shape shape);                                // zeros
  Array(DType dtype, Shape shape, std::vector<std::byte> bytes);  // throws unless the sizes agree
  explicit Array(const ArrayView& view);                          // a copy

  operator ArrayView() const { return {dtype, shape, bytes}; }
  std::size_t size() const { return bytes.size() / size_of(dtype); }

  template <class T>
  std::span<T> as();
  template <class T>
  std::span<const T> as() const {
    return ArrayView(*this).as<T>();
  }
};

// An array of the given values: array_of<float>({2, 2}, {1, 2, 3, 4}).
template <class T>
Array array_of(Shape shape, std::span<const T> values);
template <class T>
Array array_of(Shape shape, std::initializer_list<T> values) {
  return array_of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
}

// The same values in another element type. Anything goes to f64, f32, f16 and bf16, rounded once to
// nearest even; whole numbers and booleans also go to i64, and one that does not fit is refused.
Array convert(const ArrayView& from, DType to);

// What an array holds, at a glance.
struct Summary {
  double min = 0, max = 0;  // of the finite elements; both 0 when there is none
  std::size_t finite = 0, nan = 0, positive_infinity = 0, negative_infinity = 0;
};
Summary summarise(const ArrayView& array);

// ---------------------------------------------------------------------------------------- reading

struct ReadOptions {
  bool bf16_from_v2 = false;  // two-byte void elements of .npy are bfloat16; otherwise refused
  std::uint64_t max_inflated_bytes = std::uint64_t{1} << 34;  // of one compressed tensor
};

struct TensorInfo {
  std::string name;  // "" for the only array of a .npy
  DType dtype = DType::f32;
  Shape shape;
};

// An open file of tensors. The format is told by the bytes, never by the name of the file:
//   .npy                 one array, any version, byte order and axis order
//   .npz                 arrays in a zip file, stored or deflated; damage is noticed (CRC-32)
//   safetensors          mapped; tensors without gaps or overlaps, each name once
//   safetensors index    model.safetensors.index.json, its shards in the same folder
class TensorFile {
 public:
  explicit TensorFile(const std::filesystem::path& path, const ReadOptions& options = {});
  // A file that is in memory already; errors call it `label`.
  TensorFile(std::vector<std::byte> bytes, std::string label, const ReadOptions& options = {});
  ~TensorFile();
  TensorFile(TensorFile&&) noexcept;
  TensorFile& operator=(TensorFile&&) noexcept;

  // "npy", "npz", "safetensors" or "safetensors index" (a model in several files).
  std::string_view format() const;
  const std::vector<TensorInfo>& tensors() const;              // in the order of the file
  const std::map<std::string, std::string>& metadata() const;  // of safetensors
  const TensorInfo& info(std::string_view name) const;  // throws when there is none of that name

  // One tensor. In place where it lies in the file as arrays lie in memory; otherwise (compressed,
  // another byte order, Fortran order, not aligned) converted once and kept. Valid as long as the
  // TensorFile, or until it is forgotten.
  ArrayView view(std::string_view name) const;
  void forget(std::string_view name) const;  // gives the memory of a converted tensor back
  Array read(std::string_view name) const;   // a copy; nothing is kept

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "cache.npz:key" is tensor "key" of cache.npz; "x.npy" is the only tensor of x.npy. A path that
// contains a colon itself is understood when the file exists.
struct Address {
  std::filesystem::path file;
  std::string name;
};
Address parse_address(std::string_view text);

// One tensor by its address; without a name the file must hold exactly one.
Array read(std::string_view address, const ReadOptions& options = {});

// Text that came out of a file, safe to show on a terminal: control characters and bytes that are
// not UTF-8 become \xNN; anything past `most_bytes` becomes "...".
std::string printable(std::string_view text, std::size_t most_bytes = 80);

// Everything that is left in a stream such as stdin.
std::vector<std::byte> read_stream(std::FILE* stream, std::string_view label);

// A text file as a whole; "-" is standard input.
std::string read_text(const std::filesystem::path& path);

// ---------------------------------------------------------------------------------------- writing

// A file that appears whole or not at all. A symbolic link stays a link: what it points at is
// replaced, keeping its permissions. What is no regular file (a pipe, /dev/stdout) has nothing to
// replace: it is written as the bytes come.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  OutputFile(std::FILE* stream, std::string label);  // an open stream, left open: stdout
  ~OutputFile();                                     // without commit(): as if never begun
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }
  void commit();  // on the disk, under its name

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

void write_file(const std::filesystem::path& path, std::string_view text);

// A .npy written piece by piece, for arrays that never are in memory as a whole.
class NpyWriter {
 public:
  NpyWriter(OutputFile file, DType dtype, const Shape& shape);
  void append(std::span<const std::byte> elements);  // in C order
  void commit();                                     // throws unless every element has come

 private:
  OutputFile file_;
  std::uint64_t missing_ = 0;  // bytes still to come
};

void write_npy(OutputFile file, const ArrayView& array);
inline void write_npy(const std::filesystem::path& path, const ArrayView& array) {
  write_npy(OutputFile(path), array);
}

// Several tensors in one file. A name may come once.
struct NamedArray {
  std::string name;
  ArrayView array;
};

struct NpzOptions {
  bool deflate = false;  // smaller, slower, and not readable in place
};
void write_npz(OutputFile file, std::span<const NamedArray> arrays, const NpzOptions& options = {});
inline void write_npz(const std::filesystem::path& path, std::span<const NamedArray> arrays,
                      const NpzOptions& options = {}) {
  write_npz(OutputFile(path), arrays, options);
}

// Tensors are laid out widest elements first, so that each is aligned when mapped.
void write_safetensors(OutputFile file, std::span<const NamedArray> arrays,
                       const std::map<std::string, std::string>& metadata = {});
inline void write_safetensors(const std::filesystem::path& path, std::span<const NamedArray> arrays,
                              const std::map<std::string, std::string>& metadata = {}) {
  write_safetensors(OutputFile(path), arrays, metadata);
}

// A model in files of at most `most_bytes` (a larger tensor gets one of its own), named after the
// index, NAME.safetensors.index.json, which is written last.
void write_sharded_safetensors(const std::filesystem::path& index,
                               std::span<const NamedArray> arrays, std::uint64_t most_bytes);

// ------------------------------------------------------------------------------------- definitions

namespace detail {
[[noreturn]] void wrong_type(DType have, DType asked);
}

template <class T>
std::span<const T> ArrayView::as() const {
  if (dtype_of<T> != dtype) detail::wrong_type(dtype, dtype_of<T>);
  return {reinterpret_cast<const T*>(bytes.data()), size()};
}

template <class T>
std::span<T> Array::as() {
  if (dtype_of<T> != dtype) detail::wrong_type(dtype, dtype_of<T>);
  return {reinterpret_cast<T*>(bytes.data()), size()};
}

template <class T>
Array array_of(Shape shape, std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return Array(dtype_of<T>, std::move(shape), {bytes.begin(), bytes.end()});
}

}  // namespace heed::io
