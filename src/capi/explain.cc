// Explaining through C: a problem file's text to the JSON trace.
#include <cstdlib>

#include "capi/convert.h"
#include "heed/problem.h"
#include "heed/trace.h"

using heed::capi::guarded;
using heed::capi::not_null;

extern "C" {

heed_status heed_explain_json(const char* problem, char** json) {
  return guarded([&] {
    char*& result = not_null(json, "json");
    const std::string text = heed::explain::to_json(
        heed::explain::trace(heed::explain::parse_problem(&not_null(problem, "problem"))));
    char* copy = static_cast<char*>(std::malloc(text.size() + 1));
    if (copy == nullptr) throw std::bad_alloc();
    std::memcpy(copy, text.c_str(), text.size() + 1);
    result = copy;
  });
}

void heed_string_free(char* text) {
  std::free(text);
}

}  // extern "C"
