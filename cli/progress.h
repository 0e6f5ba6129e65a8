// A progress bar with the time left, on runs of more than a second, when someone is watching.
#pragma once

#include <chrono>
#include <string>

#include "heed/options.h"

namespace heed::cli {

class ProgressBar {
 public:
  explicit ProgressBar(std::string title);
  ~ProgressBar();  // wipes it
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(double done);  // 0..1

  // For heed::Execution: shows how far it is, and stops the run when the user asks for it.
  Progress callback();

 private:
  std::string title_;
  std::chrono::steady_clock::time_point begun_, shown_;
  bool wanted_, visible_ = false;
};

// "42 %, 3 s left" beside a bar of `width` characters.
std::string progress_text(const std::string& title, double done, double seconds, std::size_t width);

}  // namespace heed::cli
