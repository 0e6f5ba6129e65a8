// safetensors: a header of JSON, then the tensors one after the other, little-endian.
#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/checks.h"
#include "io/format.h"
#include "io/names.h"
#include "io/safetensors_dtypes.h"
#include "io/safetensors_header.h"
#include "io/text.h"

namespace heed::io {
namespace {

constexpr bool kSwapped = std::endian::native != std::endian::little;

class SafetensorsFormat : public Format {
 public:
  SafetensorsFormat(Bytes file, const std::string& label)
      : Format(label), header_(parse_safetensors_header(file, label)) {
    for (const auto& tensor : header_.tensors) add(tensor.info);
    metadata_ = header_.metadata;
  }
  std::string_view name() const override { return "safetensors"; }
  Elements load(std::size_t index) const override {
    const auto& [info, begin, end] = header_.tensors[index];
    return arrange(header_.data.subspan(begin, end - begin),
                   {info.dtype, info.shape, kSwapped && size_of(info.dtype) > 1, false});
  }

 private:
  SafetensorsHeader header_;
};

// Widest elements first, so that every tensor is aligned for its type.
std::vector<const NamedArray*> file_order(std::span<const NamedArray> arrays) {
  std::vector<const NamedArray*> order;
  for (const NamedArray& array : arrays) order.push_back(&array);
  std::stable_sort(order.begin(), order.end(), [](const NamedArray* a, const NamedArray* b) {
    return size_of(a->array.dtype) > size_of(b->array.dtype);
  });
  return order;
}

std::string header_text(const std::vector<const NamedArray*>& order,
                        const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const NamedArray* named : order) {
    const auto& [name, array] = *named;
    require(name != "__metadata__", "safetensors: a tensor cannot be named __metadata__");
    const std::size_t end = offset + array.bytes.size();
    header[name] = {{"dtype", safetensors_name(array.dtype)},
                    {"shape", array.shape},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = to_json_text("safetensors", header);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begins aligned
  return text;
}

}  // namespace

std::unique_ptr<Format> open_safetensors(Bytes file, const std::string& label) {
  return std::make_unique<SafetensorsFormat>(file, label);
}

void write_safetensors(OutputFile file, std::span<const NamedArray> arrays,
                       const std::map<std::string, std::string>& metadata) {
  refuse_repeated_names("safetensors", arrays);
  const auto order = file_order(arrays);
  const std::string header = header_text(order, metadata);
  std::array<std::byte, 8> length;
  store_le(length.data(), std::uint64_t{header.size()});
  file.write(length);
  file.write(header);
  for (const NamedArray* named : order) {
    if (kSwapped) {
      std::vector<std::byte> swapped(named->array.bytes.begin(), named->array.bytes.end());
      swap_bytes(swapped, size_of(named->array.dtype));
      file.write(swapped);
    } else {
      file.write(named->array.bytes);
    }
  }
  file.commit();
}

}  // namespace heed::io
