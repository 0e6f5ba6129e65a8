// Tensors named on the command line: file, file:name, or "-" for standard input and output.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "heed/io.h"

namespace heed::cli {

// Tensors that are read, kept alive together; one file opened under several names is mapped once.
class InputFiles {
 public:
  // `flag` is what errors call the tensor: "--query q.npy: ...".
  io::ArrayView open(const std::string& flag, const std::string& address);

  // A whole file, to be asked for tensors by name.
  const io::TensorFile& open_file(const std::string& flag, const std::string& path);

  // Keeps a tensor that was made from others.
  io::ArrayView keep(io::Array array);

 private:
  const io::TensorFile& file(const std::string& path);

  std::vector<std::pair<std::string, std::unique_ptr<io::TensorFile>>> files_;
  std::deque<io::Array> arrays_;
};

// Tensors that are written: every file is begun before the work, so that one that cannot be written
// is known at once, and all take their names together at the end.
class OutputFiles {
 public:
  // The index of the output. Refuses a file that is already an output.
  std::size_t add(const std::string& address, DType dtype, const io::Shape& shape);

  // The next elements of an output, in C order. Throws Cancelled when the user has asked to stop.
  void append(std::size_t output, std::span<const std::byte> elements);

  void commit();

 private:
  std::vector<std::string> names_;
  std::vector<io::NpyWriter> writers_;
};

}  // namespace heed::cli
