// Reads a file of tensors and writes them again, for numpy_test.py.
//
//   heed_io_rewrite FROM TO     TO ends in .npy, .npz, .deflated.npz or .safetensors
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "heed/io.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const heed::io::TensorFile from(std::filesystem::path{argv[1]});
    const std::string to = argv[2];
    std::vector<heed::io::NamedArray> arrays;
    for (const heed::io::TensorInfo& tensor : from.tensors())
      arrays.push_back({tensor.name.empty() ? "array" : tensor.name, from.view(tensor.name)});
    if (to.ends_with(".npy")) {
      heed::io::write_npy(to, arrays.at(0).array);
    } else if (to.ends_with(".safetensors")) {
      heed::io::write_safetensors(to, arrays);
    } else {
      heed::io::write_npz(to, arrays, {.deflate = to.ends_with(".deflated.npz")});
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
