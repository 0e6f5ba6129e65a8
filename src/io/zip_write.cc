// A zip file, written front to back. Sizes are always given in zip64 fields too large or not, so
// that there is one way to write them.
#include <utility>

#include "base/checks.h"
#include "io/deflate.h"
#include "io/zip.h"
#include "io/zip_layout.h"

namespace heed::io {
namespace {

template <class T>
void append(std::vector<std::byte>& to, T value) {
  to.resize(to.size() + sizeof(T));
  store_le(to.data() + to.size() - sizeof(T), value);
}

void append(std::vector<std::byte>& to, Bytes bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

struct Record {
  Bytes name;
  std::uint16_t method = kStored;
  std::uint32_t crc = 0;
  std::uint64_t stored_size = 0, size = 0, offset = 0;
};

// What the local and the central header have in common, from "version needed" to the name's length.
void append_common(std::vector<std::byte>& to, const Record& record) {
  append(to, kVersion64);
  append(to, kUtf8Flag);
  append(to, record.method);
  append(to, std::uint16_t{0});  // time
  append(to, kEpochDate);
  append(to, record.crc);
  append(to, kIn64);
  append(to, kIn64);
  append(to, static_cast<std::uint16_t>(record.name.size()));
}

std::vector<std::byte> local_header(const Record& record) {
  std::vector<std::byte> header;
  append(header, kLocalSignature);
  append_common(header, record);
  append(header, std::uint16_t{20});  // extra field
  append(header, record.name);
  append(header, kExtra64);
  append(header, std::uint16_t{16});
  append(header, record.size);
  append(header, record.stored_size);
  return header;
}

void append_central_header(std::vector<std::byte>& to, const Record& record) {
  append(to, kCentralSignature);
  append(to, kVersion64);  // made by
  append_common(to, record);
  append(to, std::uint16_t{28});  // extra field
  append(to, std::uint16_t{0});   // comment
  append(to, std::uint16_t{0});   // disk
  append(to, std::uint16_t{0});   // internal attributes
  append(to, std::uint32_t{0});   // external attributes
  append(to, kIn64);              // offset
  append(to, record.name);
  append(to, kExtra64);
  append(to, std::uint16_t{24});
  append(to, record.size);
  append(to, record.stored_size);
  append(to, record.offset);
}

}  // namespace

void ZipWriter::put(Bytes bytes) {
  file_.write(bytes);
  offset_ += bytes.size();
}

void ZipWriter::add(const std::string& name, Bytes head, Bytes body, bool deflate) {
  require(name.size() <= 0xffff, "zip: a name of ", name.size(), " bytes is longer than 65535");
  Record record{std::as_bytes(std::span(name)), deflate ? kDeflated : kStored,
                crc32(body, crc32(head)),       head.size() + body.size(),
                head.size() + body.size(),      offset_};
  std::vector<std::byte> compressed;
  if (deflate) {
    std::vector<std::byte> content(head.begin(), head.end());
    append(content, body);
    compressed = deflated(content);
    record.stored_size = compressed.size();
    head = compressed;
    body = {};
  }
  put(local_header(record));
  put(head);
  put(body);
  append_central_header(directory_, record);
  ++entries_;
}

void ZipWriter::commit() {
  const std::uint64_t begin = offset_;
  put(directory_);
  std::vector<std::byte> end;
  append(end, kEnd64Signature);
  append(end, std::uint64_t{kEnd64Bytes - 12});  // of the rest of this record
  append(end, kVersion64);                       // made by
  append(end, kVersion64);                       // needed
  append(end, std::uint32_t{0});                 // this disk
  append(end, std::uint32_t{0});                 // disk of the directory
  append(end, entries_);
  append(end, entries_);
  append(end, std::uint64_t{directory_.size()});
  append(end, begin);
  append(end, kLocator64Signature);
  append(end, std::uint32_t{0});
  append(end, begin + directory_.size());
  append(end, std::uint32_t{1});  // disks
  append(end, kEndSignature);
  append(end, std::uint32_t{0});  // disks
  append(end, std::uint16_t{0xffff});
  append(end, std::uint16_t{0xffff});
  append(end, kIn64);
  append(end, kIn64);
  append(end, std::uint16_t{0});  // comment
  put(end);
  file_.commit();
}

}  // namespace heed::io
