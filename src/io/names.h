// What the writers of several tensors share.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/checks.h"
#include "heed/io.h"
#include "io/text.h"

namespace heed::io {

inline void refuse_repeated_names(std::string_view format, std::span<const NamedArray> arrays) {
  std::set<std::string_view> names;
  for (const NamedArray& named : arrays)
    require(names.insert(named.name).second, format, ": two tensors are named ",
            in_quotes(named.name));
}

// The text of a JSON value; names that are not UTF-8 are refused.
inline std::string to_json_text(std::string_view format, const nlohmann::ordered_json& value,
                                int indent = -1) {
  try {
    return value.dump(indent);
  } catch (const nlohmann::json::type_error&) {
    fail(format, ": a name is not UTF-8");
  }
}

}  // namespace heed::io
