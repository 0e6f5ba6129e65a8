// Whether someone is watching, and how wide the window is: progress and colour are for terminals
// only.
#pragma once

#include <cstddef>
#include <cstdio>

#if defined(_WIN32)
#include <io.h>
#else
#include <sys/ioctl.h>
#include <unistd.h>
#endif

namespace heed::cli {

inline bool is_terminal(std::FILE* stream) {
#if defined(_WIN32)
  return _isatty(_fileno(stream)) != 0;
#else
  return isatty(fileno(stream)) != 0;
#endif
}

// Columns of the terminal behind the stream; 0 when there is none, or it does not tell.
inline std::size_t terminal_width(std::FILE* stream) {
#if defined(_WIN32)
  (void)stream;
#else
  winsize size = {};
  if (isatty(fileno(stream)) != 0 && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0)
    return size.ws_col;
#endif
  return 0;
}

}  // namespace heed::cli
