// The functions that the WebAssembly module exports; web/src/engine/wasm.ts calls them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/answer.h"

extern "C" {

// Answers a request. The result points at {address, length} of the answer, valid until the next
// call.
const std::uintptr_t* heed_call(const char* request, std::size_t length) {
  static heed::web::Session session;
  static std::string text;
  static std::uintptr_t result[2];
  text = heed::web::answer(session, std::string_view(request, length));
  result[0] = reinterpret_cast<std::uintptr_t>(text.data());
  result[1] = text.size();
  return result;
}
}
