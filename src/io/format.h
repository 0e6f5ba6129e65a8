// What a file format must tell TensorFile. A Format keeps views into the file's bytes, which
// outlive it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/io.h"
#include "io/bytes.h"

namespace heed::io {

// The elements of one tensor: in place in the file, or decoded into memory of their own.
struct Elements {
  Bytes in_place;
  std::vector<std::byte> owned;

  Bytes get() const { return owned.empty() ? in_place : Bytes(owned); }
};

class Format {
 public:
  explicit Format(std::string label) : label_(std::move(label)) {}
  virtual ~Format() = default;
  virtual std::string_view name() const = 0;
  virtual Elements load(std::size_t index) const = 0;  // of tensors()[index]

  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // The index of a tensor; throws, saying what there is, when there is none of that name.
  std::size_t find(std::string_view name) const;

 protected:
  void add(TensorInfo tensor);

  std::string label_;  // what errors call the file
  std::map<std::string, std::string> metadata_;

 private:
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

// Each throws unless the whole file is of its format.
std::unique_ptr<Format> open_npy(Bytes file, const std::string& label, const ReadOptions& options);
std::unique_ptr<Format> open_npz(Bytes file, const std::string& label, const ReadOptions& options);
std::unique_ptr<Format> open_safetensors(Bytes file, const std::string& label);
// `folder` is where the shards lie.
std::unique_ptr<Format> open_sharded(Bytes file, const std::string& label,
                                     const std::filesystem::path& folder);

// Whether elements lie in the file as an ArrayView must have them.
bool usable_in_place(Bytes elements, DType dtype);

// The elements as arrays have them in memory; `swapped` and `fortran_order` are those of the file.
struct Layout {
  DType dtype = DType::f32;
  Shape shape;
  bool swapped = false;        // the file's byte order is not this machine's
  bool fortran_order = false;  // first axis contiguous
};
Elements arrange(Bytes stored, const Layout& layout);
std::vector<std::byte> arrange(std::vector<std::byte> stored, const Layout& layout);

}  // namespace heed::io
