#include "io/strict_json.h"

#include "base/checks.h"
#include "io/text.h"

namespace heed::io {

void StrictJson::read(Bytes text) {
  const auto* begin = reinterpret_cast<const char*>(text.data());
  nlohmann::json::sax_parse(begin, begin + text.size(), this);
}

bool StrictJson::parse_error(std::size_t byte, const std::string&,
                             const nlohmann::json::exception&) {
  refuse("not JSON at byte " + std::to_string(byte));
}

void StrictJson::on_string(const std::string& text) {
  refuse_value(in_quotes(text));
}

void StrictJson::refuse(const std::string& what) const {
  const std::string where = place();
  fail(label_, ": ", where, where.empty() ? "" : ": ", what);
}

void StrictJson::refuse_value(const std::string& value) const {
  refuse(printable(value) + " is not expected here");
}

}  // namespace heed::io
