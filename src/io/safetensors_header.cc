#include "io/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "base/checks.h"
#include "io/safetensors_dtypes.h"
#include "io/sizes.h"
#include "io/strict_json.h"
#include "io/text.h"

namespace heed::io {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMostHeader = 100'000'000;  // the limit of the format's own library
constexpr std::size_t kMostAxes = 64;
constexpr std::string_view kMetadata = "__metadata__";

class HeaderReader : public StrictJson {
 public:
  HeaderReader(const std::string& label, SafetensorsHeader& header)
      : StrictJson(label), header_(header) {}

 private:
  // What has been read of the current tensor.
  struct Fields {
    std::optional<std::string> dtype;
    std::optional<Shape> shape, offsets;
  };

  std::string place() const override {
    if (depth_ < 2) return "header";
    return "header: " + in_quotes(name_) + (field_.empty() ? "" : ", " + field_);
  }

  void on_object(bool begins) override {
    if (begins) {
      if (depth_ == 2) refuse_value("an object");
      ++depth_;
      field_.clear();
      return;
    }
    if (depth_ == 2 && name_ != kMetadata) finish_tensor();
    --depth_;
  }

  void on_key(const std::string& key) override {
    if (depth_ == 1) {
      name_ = key;
      fields_ = {};
      if (!names_.insert(key).second) refuse(in_quotes(key) + " is in the header twice");
      return;
    }
    field_ = printable(key);
    key_ = key;
    if (name_ == kMetadata) {
      if (header_.metadata.contains(key)) refuse("is given twice");
    } else if (key != "dtype" && key != "shape" && key != "data_offsets") {
      refuse("is not a field of a tensor");
    }
  }

  void on_string(const std::string& text) override {
    if (depth_ == 2 && list_ == nullptr && name_ == kMetadata) {
      header_.metadata.emplace(key_, text);
    } else if (depth_ == 2 && key_ == "dtype") {
      if (fields_.dtype) refuse("is given twice");
      fields_.dtype = text;
    } else {
      refuse_value(in_quotes(text));
    }
  }

  void on_array(bool begins) override {
    if (!begins) {
      list_ = nullptr;
      return;
    }
    const bool is_shape = key_ == "shape";
    if (depth_ != 2 || name_ == kMetadata || list_ != nullptr || key_ == "dtype")
      refuse_value("an array");
    auto& list = is_shape ? fields_.shape : fields_.offsets;
    if (list) refuse("is given twice");
    list_ = &list.emplace();
  }

  void on_size(std::uint64_t x) override {
    if (list_ == nullptr) refuse_value(std::to_string(x));
    const std::size_t most = list_ == &*fields_.shape ? kMostAxes : 2;
    if (list_->size() == most) refuse("has more than " + std::to_string(most) + " numbers");
    if (x > std::numeric_limits<std::size_t>::max()) refuse_value(std::to_string(x));
    list_->push_back(static_cast<std::size_t>(x));
  }

  void finish_tensor() {
    field_.clear();
    if (!fields_.dtype) refuse("dtype is missing");
    if (!fields_.shape) refuse("shape is missing");
    if (!fields_.offsets || fields_.offsets->size() != 2) refuse("data_offsets are missing");
    const auto dtype = dtype_from_safetensors(*fields_.dtype);
    if (!dtype)
      refuse("dtype " + in_quotes(*fields_.dtype) + " is not one heed reads (" +
             std::string(kSafetensorsDtypes) + ")");
    const std::size_t begin = (*fields_.offsets)[0], end = (*fields_.offsets)[1];
    const std::string where = label_ + ": " + place();
    const std::size_t needed = checked_bytes(where, *dtype, *fields_.shape);
    require(begin <= end && end - begin == needed, where, ": shape ", to_string(*fields_.shape),
            " of ", name_of(*dtype), " needs ", needed, " bytes but data_offsets are ", begin,
            " to ", end);
    header_.tensors.push_back({{name_, *dtype, std::move(*fields_.shape)}, begin, end});
  }

  SafetensorsHeader& header_;
  std::size_t depth_ = 0;
  std::string name_, key_, field_;  // field_ is key_ as errors show it
  Fields fields_;
  Shape* list_ = nullptr;  // the array being read
  std::set<std::string> names_;
};

void check_extents(const SafetensorsHeader& header, const std::string& label) {
  std::vector<const SafetensorsHeader::Tensor*> order;
  for (const auto& tensor : header.tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::size_t filled = 0;
  for (const auto* tensor : order) {
    require(tensor->end <= header.data.size(), label, ": ", in_quotes(tensor->info.name),
            " ends at byte ", tensor->end, " of the data, which has ", header.data.size());
    require(tensor->begin >= filled, label, ": ", in_quotes(tensor->info.name), " begins at byte ",
            tensor->begin, " but the tensor before it ends at ", filled);
    require(tensor->begin == filled, label, ": nothing lies between bytes ", filled, " and ",
            tensor->begin, " of the data, where ", in_quotes(tensor->info.name), " begins");
    filled = tensor->end;
  }
  require(filled == header.data.size(), label, ": the tensors end at byte ", filled,
          " of the data, which has ", header.data.size());
}

}  // namespace

bool looks_like_safetensors(Bytes file) {
  // A length past 2^32 is refused anyway, so zeros here tell the length from text.
  return file.size() > kLengthBytes && load_le<std::uint32_t>(file.subspan(4)) == 0 &&
         file[kLengthBytes] == std::byte{'{'};
}

SafetensorsHeader parse_safetensors_header(Bytes file, const std::string& label) {
  require(file.size() >= kLengthBytes, label, ": a safetensors file cannot be ", file.size(),
          " bytes long");
  const auto length = load_le<std::uint64_t>(file);
  const std::size_t there = file.size() - kLengthBytes;
  require(length <= there, label, ": the header claims ", length, " bytes but ", there, " follow");
  require(length <= kMostHeader, label, ": the header claims ", length, " bytes, more than ",
          kMostHeader);
  SafetensorsHeader header;
  HeaderReader(label, header).read(file.subspan(kLengthBytes, length));
  header.data = file.subspan(kLengthBytes + length);
  check_extents(header, label);
  return header;
}

}  // namespace heed::io
