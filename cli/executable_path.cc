#include "cli/executable_path.h"

#include <system_error>

#if defined(_WIN32)
#include <windows.h>
#elif defined(__APPLE__)
#include <mach-o/dyld.h>

#include <cstdint>
#include <string>
#endif

namespace heed::cli {

std::filesystem::path executable_path() {
  std::error_code error;
#if defined(_WIN32)
  wchar_t name[32768];
  const DWORD size = GetModuleFileNameW(nullptr, name, sizeof name / sizeof *name);
  return std::filesystem::path(name, name + size);
#elif defined(__APPLE__)
  std::uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);
  std::string name(size, '\0');
  if (_NSGetExecutablePath(name.data(), &size) != 0) return {};
  return std::filesystem::canonical(name.c_str(), error);
#else
  return std::filesystem::read_symlink("/proc/self/exe", error);
#endif
}

}  // namespace heed::cli
