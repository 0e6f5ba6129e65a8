// The central directory of a zip file, read without believing it.
#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "base/checks.h"
#include "io/deflate.h"
#include "io/text.h"
#include "io/zip.h"
#include "io/zip_layout.h"

namespace heed::io {
namespace {

// Where the directory lies and how many records it has.
struct Directory {
  std::uint64_t offset = 0, size = 0, entries = 0;
};

class ZipReader {
 public:
  ZipReader(Bytes file, const std::string& label) : file_(file), label_(label) {}

  std::vector<ZipEntry> read() {
    const std::size_t end = find_end();
    directory_ = read_end(end);
    require(directory_.offset <= end && directory_.size <= end - directory_.offset, label_,
            ": the directory of ", directory_.size, " bytes at ", directory_.offset,
            " does not lie before its end at ", end);
    require(directory_.entries <= directory_.size / kCentralBytes, label_, ": ", directory_.entries,
            " entries do not fit in a directory of ", directory_.size, " bytes");
    Bytes records = file_.subspan(directory_.offset, directory_.size);
    std::vector<ZipEntry> entries;
    for (std::uint64_t i = 0; i < directory_.entries; ++i) entries.push_back(read_record(records));
    require(records.empty(), label_, ": ", records.size(), " bytes follow the last of ",
            directory_.entries, " directory entries");
    refuse_overlap();
    return entries;
  }

 private:
  Bytes at(std::uint64_t offset, std::uint64_t size, std::string_view what) const {
    require(offset <= file_.size() && size <= file_.size() - offset, label_, ": ", what, " at ",
            offset, " does not lie inside the file of ", file_.size(), " bytes");
    return file_.subspan(offset, size);
  }

  // The end record is the last thing in the file but for a comment whose length it states.
  std::size_t find_end() const {
    constexpr std::size_t kMostComment = 0xffff;
    require(file_.size() >= kEndBytes, label_, ": a zip file cannot be ", file_.size(),
            " bytes long");
    const std::size_t last = file_.size() - kEndBytes;
    for (std::size_t back = 0; back <= std::min(last, kMostComment); ++back) {
      const Bytes record = file_.subspan(last - back);
      if (load_le<std::uint32_t>(record) == kEndSignature &&
          load_le<std::uint16_t>(record.subspan(20)) == back)
        return last - back;
    }
    fail(label_, ": a zip file without its end: the last ", kEndBytes,
         " bytes or more are missing or changed");
  }

  Directory read_end(std::size_t end) const {
    const Bytes record = file_.subspan(end);
    const auto disk = load_le<std::uint16_t>(record.subspan(4));
    Directory directory{load_le<std::uint32_t>(record.subspan(16)),
                        load_le<std::uint32_t>(record.subspan(12)),
                        load_le<std::uint16_t>(record.subspan(10))};
    if (directory.offset == kIn64 || directory.size == kIn64 || directory.entries == 0xffff)
      return read_end64(end);
    require(disk == 0, label_, ": is part ", disk + 1, " of a zip file of several parts");
    return directory;
  }

  Directory read_end64(std::size_t end) const {
    require(end >= kLocator64Bytes, label_, ": the zip64 locator is missing");
    const Bytes locator = file_.subspan(end - kLocator64Bytes);
    require(load_le<std::uint32_t>(locator) == kLocator64Signature, label_,
            ": the zip64 locator is missing");
    const Bytes record =
        at(load_le<std::uint64_t>(locator.subspan(8)), kEnd64Bytes, "the zip64 end record");
    require(load_le<std::uint32_t>(record) == kEnd64Signature, label_,
            ": the zip64 end record is missing");
    return {load_le<std::uint64_t>(record.subspan(48)), load_le<std::uint64_t>(record.subspan(40)),
            load_le<std::uint64_t>(record.subspan(32))};
  }

  // Takes one record off the front of the directory.
  ZipEntry read_record(Bytes& records) {
    require(records.size() >= kCentralBytes && load_le<std::uint32_t>(records) == kCentralSignature,
            label_, ": a directory entry is missing at ", file_.size() - records.size());
    const auto u16 = [&](std::size_t i) { return load_le<std::uint16_t>(records.subspan(i)); };
    const auto u32 = [&](std::size_t i) { return load_le<std::uint32_t>(records.subspan(i)); };
    const std::size_t name_bytes = u16(28), extra_bytes = u16(30), comment_bytes = u16(32);
    const std::size_t total = kCentralBytes + name_bytes + extra_bytes + comment_bytes;
    require(total <= records.size(), label_, ": a directory entry of ", total,
            " bytes reaches past the directory, which has ", records.size(), " left");

    ZipEntry entry;
    entry.name.assign(reinterpret_cast<const char*>(records.data()) + kCentralBytes, name_bytes);
    const std::string where = label_ + ":" + printable(entry.name);
    require((u16(8) & kEncryptedFlag) == 0, where, ": is encrypted");
    const auto method = u16(10);
    require(method == kStored || method == kDeflated, where, ": compression method ", method,
            " is neither stored (0) nor deflated (8)");
    entry.deflated = method == kDeflated;
    entry.crc = u32(16);
    entry.size = u32(24);
    std::uint64_t compressed = u32(20), local = u32(42);
    read_extra64(records.subspan(kCentralBytes + name_bytes, extra_bytes), where,
                 {&entry.size, &compressed, &local});
    entry.data = find_data(entry, local, compressed, where);
    check_sizes(entry, where);
    require(names_.insert(entry.name).second, where, ": is in the file twice");
    records = records.subspan(total);
    return entry;
  }

  // The zip64 field holds, in order, those of the three numbers that did not fit in 32 bits.
  void read_extra64(Bytes extra, const std::string& where,
                    std::initializer_list<std::uint64_t*> numbers) const {
    while (extra.size() >= 4) {
      const auto id = load_le<std::uint16_t>(extra);
      const std::size_t size = load_le<std::uint16_t>(extra.subspan(2));
      require(size <= extra.size() - 4, where, ": an extra field of ", size, " bytes has only ",
              extra.size() - 4);
      Bytes field = extra.subspan(4, size);
      extra = extra.subspan(4 + size);
      if (id != kExtra64) continue;
      for (std::uint64_t* number : numbers) {
        if (*number != kIn64) continue;
        require(field.size() >= 8, where, ": the zip64 sizes are missing");
        *number = load_le<std::uint64_t>(field);
        field = field.subspan(8);
      }
      return;
    }
  }

  // Behind the local header, which must be of the same entry.
  Bytes find_data(const ZipEntry& entry, std::uint64_t offset, std::uint64_t size,
                  const std::string& where) {
    const Bytes local = at(offset, kLocalBytes, where);
    require(load_le<std::uint32_t>(local) == kLocalSignature, where, ": no entry begins at ",
            offset);
    const std::size_t name_bytes = load_le<std::uint16_t>(local.subspan(26));
    const std::size_t extra_bytes = load_le<std::uint16_t>(local.subspan(28));
    const Bytes name = at(offset + kLocalBytes, name_bytes, where);
    require(std::equal(name.begin(), name.end(), bytes_of(entry.name).begin(),
                       bytes_of(entry.name).end()),
            where, ": the entry at ", offset, " has another name");
    const std::uint64_t begin = offset + kLocalBytes + name_bytes + extra_bytes;
    const Bytes data = at(begin, size, where);
    require(begin + size <= directory_.offset, where, ": ", size, " bytes at ", begin,
            " reach into the directory at ", directory_.offset);
    extents_.push_back({offset, begin + size, where});
    return data;
  }

  static void check_sizes(const ZipEntry& entry, const std::string& where) {
    if (entry.deflated) {
      require(entry.size / kMostDeflation <= entry.data.size(), where, ": claims ", entry.size,
              " bytes, more than ", entry.data.size(), " compressed bytes can hold");
    } else {
      require(entry.size == entry.data.size(), where, ": claims ", entry.size, " bytes but stores ",
              entry.data.size());
    }
  }

  void refuse_overlap() {
    std::sort(extents_.begin(), extents_.end(),
              [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < extents_.size(); ++i)
      require(extents_[i - 1].end <= extents_[i].begin, extents_[i].where, ": begins at ",
              extents_[i].begin, ", inside ", extents_[i - 1].where, ", which ends at ",
              extents_[i - 1].end);
  }

  static Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

  struct Extent {
    std::uint64_t begin, end;
    std::string where;
  };

  Bytes file_;
  const std::string& label_;
  Directory directory_;
  std::vector<Extent> extents_;
  std::set<std::string> names_;
};

}  // namespace

bool looks_like_zip(Bytes file) {
  if (file.size() < 4) return false;
  const auto signature = load_le<std::uint32_t>(file);
  return signature == kLocalSignature || signature == kEndSignature ||
         signature == kEnd64Signature;  // the last two: without entries
}

std::vector<ZipEntry> read_zip_directory(Bytes file, const std::string& label) {
  return ZipReader(file, label).read();
}

}  // namespace heed::io
