// .npz: a zip file of .npy files, stored or deflated.
#include <utility>

#include "base/checks.h"
#include "io/deflate.h"
#include "io/format.h"
#include "io/names.h"
#include "io/npy_header.h"
#include "io/text.h"
#include "io/zip.h"

namespace heed::io {
namespace {

constexpr std::string_view kSuffix = ".npy";

class NpzFormat : public Format {
 public:
  NpzFormat(Bytes file, const std::string& label, const ReadOptions& options)
      : Format(label), limit_(options.max_inflated_bytes) {
    for (ZipEntry& entry : read_zip_directory(file, label)) {
      if (!entry.name.ends_with(kSuffix)) continue;  // NumPy puts nothing else in; others may
      const std::string tensor = entry.name.substr(0, entry.name.size() - kSuffix.size());
      NpyHeader header = read_header(entry, options);
      add({tensor, header.layout.dtype, header.layout.shape});
      entries_.push_back({std::move(entry), std::move(header)});
    }
  }

  std::string_view name() const override { return "npz"; }

  Elements load(std::size_t index) const override {
    const auto& [entry, header] = entries_[index];
    if (entry.deflated) return {{}, inflate(entry, header)};
    require(crc32(entry.data) == entry.crc, where(entry), ": the contents are damaged (CRC-32)");
    return arrange(entry.data.subspan(header.data_offset), header.layout);
  }

 private:
  std::string where(const ZipEntry& entry) const { return label_ + ":" + printable(entry.name); }

  NpyHeader read_header(const ZipEntry& entry, const ReadOptions& options) const {
    const std::string place = where(entry);
    NpyHeader header;
    if (entry.deflated) {
      Inflater inflater(entry.data, place);
      std::vector<std::byte> head = inflater.read(kNpyPreamble);
      const std::size_t length = npy_data_offset(head, place);
      const auto rest = inflater.read(length > head.size() ? length - head.size() : 0);
      head.insert(head.end(), rest.begin(), rest.end());
      header = parse_npy_header(head, place, options);
    } else {
      header = parse_npy_header(entry.data, place, options);
    }
    require(header.data_offset <= entry.size, place, ": claims ", entry.size,
            " bytes but its header alone takes ", header.data_offset);
    check_npy_size(header, entry.size - header.data_offset, place);
    return header;
  }

  std::vector<std::byte> inflate(const ZipEntry& entry, const NpyHeader& header) const {
    const std::string place = where(entry);
    require(entry.size <= limit_, place, ": would inflate to ", entry.size,
            " bytes, more than the limit of ", limit_);
    Inflater inflater(entry.data, place);
    const auto head = inflater.read(header.data_offset);
    std::vector<std::byte> elements = inflater.read(header.data_bytes);
    require(elements.size() == header.data_bytes, place, ": claims ", header.data_bytes,
            " bytes of elements but holds ", elements.size());
    inflater.expect_end();
    require(crc32(elements, crc32(head)) == entry.crc, place,
            ": the contents are damaged (CRC-32)");
    return arrange(std::move(elements), header.layout);
  }

  struct Entry {
    ZipEntry zip;
    NpyHeader header;
  };

  std::uint64_t limit_;
  std::vector<Entry> entries_;
};

}  // namespace

std::unique_ptr<Format> open_npz(Bytes file, const std::string& label, const ReadOptions& options) {
  return std::make_unique<NpzFormat>(file, label, options);
}

void write_npz(OutputFile file, std::span<const NamedArray> arrays, const NpzOptions& options) {
  refuse_repeated_names("npz", arrays);
  ZipWriter writer(std::move(file));
  for (const auto& [name, array] : arrays) {
    const std::string header = format_npy_header(array.dtype, array.shape);
    writer.add(name + std::string(kSuffix), std::as_bytes(std::span(header)), array.bytes,
               options.deflate);
  }
  writer.commit();
}

}  // namespace heed::io
