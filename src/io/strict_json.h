// JSON headers, read event by event: a reader refuses what it does not expect, so nothing is built
// from, and no depth is reached by, input that does not have the one right form.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "io/bytes.h"

namespace heed::io {

// Base of the readers: every event is refused until a reader overrides it. Text is valid UTF-8.
class StrictJson {
 public:
  explicit StrictJson(const std::string& label) : label_(label) {}
  virtual ~StrictJson() = default;

  // Reads `text`, which must be one JSON value and nothing else.
  void read(Bytes text);

  // nlohmann::json's names for the events; each returns true to go on.
  bool null() { refuse_value("null"); }
  bool boolean(bool) { refuse_value("a boolean"); }
  bool number_integer(nlohmann::json::number_integer_t x) { refuse_value(std::to_string(x)); }
  bool number_unsigned(nlohmann::json::number_unsigned_t x) { return on_size(x), true; }
  bool number_float(nlohmann::json::number_float_t, const std::string& text) { refuse_value(text); }
  bool string(std::string& text) { return on_string(text), true; }
  bool binary(nlohmann::json::binary_t&) { refuse_value("binary data"); }
  bool start_object(std::size_t) { return on_object(true), true; }
  bool end_object() { return on_object(false), true; }
  bool start_array(std::size_t) { return on_array(true), true; }
  bool end_array() { return on_array(false), true; }
  bool key(std::string& name) { return on_key(name), true; }
  bool parse_error(std::size_t byte, const std::string& token,
                   const nlohmann::json::exception& error);

 protected:
  virtual void on_size(std::uint64_t x) { refuse_value(std::to_string(x)); }
  virtual void on_string(const std::string& text);
  virtual void on_object(bool) { refuse_value("an object"); }  // begins or ends
  virtual void on_array(bool) { refuse_value("an array"); }    // begins or ends
  virtual void on_key(const std::string& name) = 0;

  // Where the reader is, for the errors: "tensor "x", shape".
  virtual std::string place() const = 0;

  [[noreturn]] void refuse(const std::string& what) const;
  [[noreturn]] void refuse_value(const std::string& value) const;

  const std::string& label_;  // what errors call the file
};

}  // namespace heed::io
