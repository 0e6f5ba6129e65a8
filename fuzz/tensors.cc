// A file of tensors, whichever its format: opened, every tensor loaded and looked at. Bad input is
// refused with heed::Error; anything else that happens is a finding.
#include <cstdlib>
#include <span>

#include "fuzz/target.h"
#include "heed/io.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace heed;
  const auto bytes = std::as_bytes(std::span(data, size));
  // Less than libFuzzer's own limit on memory, so that a bomb is refused rather than found.
  const io::ReadOptions options{.bf16_from_v2 = true, .max_inflated_bytes = 1 << 24};
  try {
    const io::TensorFile file({bytes.begin(), bytes.end()}, "input", options);
    for (const io::TensorInfo& tensor : file.tensors()) {
      const io::ArrayView view = file.view(tensor.name);
      if (view.size() != io::element_count(tensor.shape)) std::abort();
      io::summarise(view);
    }
  } catch (const Error&) {
  }
  return 0;
}
