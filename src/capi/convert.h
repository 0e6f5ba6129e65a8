// C structs to C++ values, and the one place where exceptions become status codes.
#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "heed/attention.h"
#include "heed/c.h"
#include "heed/error.h"
#include "heed/kv_cache.h"

namespace heed::capi {

// Keeps `text` as this thread's heed_last_error() and passes `status` on. Never throws.
heed_status report(heed_status status, const char* text) noexcept;

// Runs f(); whatever it throws becomes a status and a message.
template <class F>
heed_status guarded(F&& f) noexcept {
  try {
    std::forward<F>(f)();
    return HEED_OK;
  } catch (const Cancelled& e) {
    return report(HEED_CANCELLED, e.what());
  } catch (const CacheFull& e) {
    return report(HEED_NO_MEMORY, e.what());
  } catch (const Error& e) {
    return report(HEED_INVALID, e.what());
  } catch (const std::bad_alloc&) {
    return report(HEED_NO_MEMORY, "not enough memory");
  } catch (const std::exception& e) {
    return report(HEED_INTERNAL, e.what());
  } catch (...) {
    return report(HEED_INTERNAL, "unknown exception");
  }
}

// Throws "<what> is NULL" for a null pointer.
template <class T>
T& not_null(T* pointer, const char* what) {
  if (pointer == nullptr) throw Error(std::string(what) + " is NULL");
  return *pointer;
}

// A versioned struct as this build knows it: the fields the caller has, the rest absent.
template <class T>
T versioned(const T* given, const char* what) {
  T known = {};
  if (given != nullptr) {
    if (given->struct_size < sizeof(given->struct_size))
      throw Error(std::string(what) + ": struct_size is " + std::to_string(given->struct_size) +
                  "; set it to sizeof(" + what + ")");
    std::memcpy(&known, given, std::min(sizeof(T), given->struct_size));
  }
  return known;
}

// Fills in as much of a versioned struct as the caller has room for.
template <class T>
void fill(T* to, T all) {
  all.struct_size = to->struct_size;
  std::memcpy(to, &all, std::min(sizeof(T), to->struct_size));
}

// A count whose 0 stands for the default.
inline std::optional<std::size_t> given(std::size_t count) {
  return count == 0 ? std::nullopt : std::optional(count);
}

DType dtype_from(heed_dtype given, const char* what);
// The pointer and its count; throws if only the pointer is missing.
template <class T>
std::span<const T> array(const T* data, std::size_t count, const char* what) {
  if (data == nullptr && count != 0)
    throw Error(std::string(what) + " is NULL but its count is " + std::to_string(count));
  return {data, data == nullptr ? 0 : count};
}

TensorView tensor(const heed_tensor* given, const char* what);
RowView row_view(float* data, const heed_tensor& like);

// heed_options as the C++ pair. Holds what the C++ options point at, so it stays where it is.
class Options {
 public:
  explicit Options(const heed_options* given);
  Options(const Options&) = delete;
  Options& operator=(const Options&) = delete;

  AttentionOptions attention;
  Execution execution;

 private:
  heed_options given_;
};

}  // namespace heed::capi
