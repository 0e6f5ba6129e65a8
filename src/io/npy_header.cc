#include "io/npy_header.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include "base/checks.h"
#include "io/sizes.h"
#include "io/text.h"

namespace heed::io {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr std::size_t kMostAxes = 64;  // NumPy's own limit
constexpr bool kLittle = std::endian::native == std::endian::little;

std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Reads the few forms of Python literal that a header is made of.
class LiteralReader {
 public:
  LiteralReader(std::string_view text, std::string_view label) : text_(text), label_(label) {}

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(label_, ": header: ", parts..., " at character ", position_);
  }

  // Skips blanks; then the next character, or NUL at the end.
  char peek() {
    while (position_ < text_.size() && is_blank(text_[position_])) ++position_;
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  bool accept(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) refuse("expected '", c, "' but found ", found());
  }

  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse("expected a string but found ", found());
    const std::size_t begin = ++position_;
    while (position_ < text_.size() && text_[position_] != quote) {
      if (text_[position_] == '\\') refuse("escapes are not understood");
      ++position_;
    }
    if (position_ == text_.size()) refuse("a string does not end");
    return text_.substr(begin, position_++ - begin);
  }

  bool boolean() {
    peek();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(position_, word.size()) != word) continue;
      position_ += word.size();
      return value;
    }
    refuse("expected True or False but found ", found());
  }

  std::size_t size() {
    peek();
    std::size_t value = 0;
    const char* const begin = text_.data() + position_;
    const char* const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error == std::errc::result_out_of_range) refuse("a size does not fit in 64 bits");
    if (error != std::errc()) refuse("expected a size but found ", found());
    position_ += static_cast<std::size_t>(stop - begin);
    accept('L');  // Python 2 wrote 3L
    return value;
  }

  // (), (5,) or (2, 3)
  Shape shape() {
    expect('(');
    Shape sizes;
    while (!accept(')')) {
      if (sizes.size() == kMostAxes) refuse("more than ", kMostAxes, " axes");
      sizes.push_back(size());
      if (peek() != ')') expect(',');
    }
    return sizes;
  }

  std::string found() {
    const char c = peek();
    return c == '\0' && position_ == text_.size() ? "the end"
                                                  : in_quotes(text_.substr(position_, 1));
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

  std::string_view text_, label_;
  std::size_t position_ = 0;
};

struct ElementType {
  DType dtype;
  bool swapped;
};

std::optional<DType> dtype_from_code(std::string_view code, const ReadOptions& options) {
  if (code == "f2") return DType::f16;
  if (code == "f4") return DType::f32;
  if (code == "f8") return DType::f64;
  if (code == "i1") return DType::i8;
  if (code == "i2") return DType::i16;
  if (code == "i4") return DType::i32;
  if (code == "i8") return DType::i64;
  if (code == "u1") return DType::u8;
  if (code == "u2") return DType::u16;
  if (code == "u4") return DType::u32;
  if (code == "u8") return DType::u64;
  if (code == "b1") return DType::boolean;
  if (code == "V2" && options.bf16_from_v2) return DType::bf16;
  return {};
}

// "<f4": byte order, kind, bytes.
ElementType parse_descr(std::string_view descr, std::string_view label,
                        const ReadOptions& options) {
  const char order = descr.empty() ? '\0' : descr[0];
  const auto dtype = dtype_from_code(descr.substr(std::min<std::size_t>(1, descr.size())), options);
  const bool ordered = order == '<' || order == '>' || order == '=' ||
                       (order == '|' && dtype && (size_of(*dtype) == 1 || *dtype == DType::bf16));
  if (!dtype || !ordered) {
    const bool is_v2 = descr.ends_with("V2");
    fail(label, ": elements of type ", in_quotes(descr), " are not numbers heed reads (",
         is_v2 ? "two-byte void is read as bfloat16 only on request"
               : "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1, each after < or >",
         ")");
  }
  return {*dtype, size_of(*dtype) > 1 && order == (kLittle ? '>' : '<')};
}

struct Fields {
  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<Shape> shape;
};

template <class T>
void set_once(std::optional<T>& field, T value, std::string_view key, const LiteralReader& reader) {
  if (field) reader.refuse("'", key, "' is given twice");
  field = std::move(value);
}

Fields parse_dictionary(std::string_view text, std::string_view label) {
  LiteralReader reader(text, label);
  Fields fields;
  reader.expect('{');
  while (!reader.accept('}')) {
    const std::string_view key = reader.string();
    reader.expect(':');
    if (key == "descr") {
      if (reader.peek() == '[') reader.refuse("records of several fields are not read");
      set_once(fields.descr, reader.string(), key, reader);
    } else if (key == "fortran_order") {
      set_once(fields.fortran_order, reader.boolean(), key, reader);
    } else if (key == "shape") {
      set_once(fields.shape, reader.shape(), key, reader);
    } else {
      reader.refuse("unknown key ", in_quotes(key));
    }
    if (reader.peek() != '}') reader.expect(',');
  }
  if (reader.found() != "the end") reader.refuse("expected the end but found ", reader.found());
  if (!fields.descr) reader.refuse("'descr' is missing");
  if (!fields.fortran_order) reader.refuse("'fortran_order' is missing");
  if (!fields.shape) reader.refuse("'shape' is missing");
  return fields;
}

struct Preamble {
  std::size_t header_offset = 0, header_bytes = 0;
};

Preamble parse_preamble(Bytes file, std::string_view label) {
  require(looks_like_npy(file), label, ": not a .npy file: does not begin with \\x93NUMPY");
  require(file.size() >= 8, label, ": ends after ", file.size(), " bytes, inside the version");
  const auto major = std::to_integer<unsigned>(file[6]), minor = std::to_integer<unsigned>(file[7]);
  require(major >= 1 && major <= 3 && minor == 0, label, ": .npy version ", major, ".", minor,
          " is not 1.0, 2.0 or 3.0");
  const std::size_t header_offset = major == 1 ? 10 : 12;
  require(file.size() >= header_offset, label, ": ends after ", file.size(),
          " bytes, inside the header's length");
  const std::size_t header_bytes = major == 1 ? load_le<std::uint16_t>(file.subspan(8))
                                              : load_le<std::uint32_t>(file.subspan(8));
  return {header_offset, header_bytes};
}

std::string descr_of(DType dtype) {
  const char order = size_of(dtype) == 1 ? '|' : kLittle ? '<' : '>';
  const char kind = dtype == DType::bf16 ? 'V' : name_of(dtype)[0];  // f i u b: NumPy's letters
  return std::string{order, kind} + std::to_string(size_of(dtype));
}

}  // namespace

bool looks_like_npy(Bytes file) {
  return as_text(file).starts_with(kMagic);
}

std::size_t npy_data_offset(Bytes preamble, std::string_view label) {
  const Preamble p = parse_preamble(preamble, label);
  return p.header_offset + p.header_bytes;
}

NpyHeader parse_npy_header(Bytes file, std::string_view label, const ReadOptions& options) {
  const Preamble preamble = parse_preamble(file, label);
  const std::size_t there = file.size() - preamble.header_offset;
  require(preamble.header_bytes <= there, label, ": the header claims ", preamble.header_bytes,
          " bytes but ", there, " follow");
  const auto text = as_text(file.subspan(preamble.header_offset, preamble.header_bytes));
  Fields fields = parse_dictionary(text, label);
  const ElementType element = parse_descr(*fields.descr, label, options);

  NpyHeader header;
  header.layout = {element.dtype, std::move(*fields.shape), element.swapped, *fields.fortran_order};
  header.data_offset = preamble.header_offset + preamble.header_bytes;
  header.data_bytes = checked_bytes(label, element.dtype, header.layout.shape);
  return header;
}

void check_npy_size(const NpyHeader& header, std::size_t there, std::string_view label) {
  require(there == header.data_bytes, label, ": shape ", to_string(header.layout.shape), " of ",
          name_of(header.layout.dtype), " needs ", header.data_bytes, " bytes but ", there,
          " follow the header");
}

std::string format_npy_header(DType dtype, const Shape& shape) {
  require(shape.size() <= kMostAxes, "npy: ", shape.size(), " axes are more than the ", kMostAxes,
          " that .npy holds");
  const std::string text = "{'descr': '" + descr_of(dtype) +
                           "', 'fortran_order': False, 'shape': " + to_string(shape) + ", }";
  constexpr std::size_t kPreamble = 10;
  constexpr std::size_t kBlock = 64;  // so that the elements of a mapped file are aligned
  const std::size_t total = (kPreamble + text.size() + 1 + kBlock - 1) / kBlock * kBlock;
  const std::size_t length = total - kPreamble;  // at most 64 axes of 20 digits: fits in 16 bits
  std::string header(kMagic);
  header += {'\x01', '\0', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  header += text;
  header.resize(total - 1, ' ');
  return header + '\n';
}

}  // namespace heed::io
