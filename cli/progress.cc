#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "cli/interrupt.h"
#include "cli/terminal.h"

namespace heed::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

std::string progress_text(const std::string& title, double done, double seconds,
                          std::size_t width) {
  done = std::clamp(done, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(done * static_cast<double>(width));
  const std::string left =
      done > 0 ? ", " + duration_text(seconds * (1 - done) / done) + " left" : "";
  return fmt::format("{} [{}{}] {:.0f} %{}", title, std::string(filled, '#'),
                     std::string(width - filled, '.'), 100 * done, left);
}

ProgressBar::ProgressBar(std::string title)
    : title_(std::move(title)),
      begun_(Clock::now()),
      shown_(begun_),
      wanted_(is_terminal(stderr)) {}

ProgressBar::~ProgressBar() {
  if (visible_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::update(double done) {
  constexpr auto kPatience = std::chrono::seconds(1);
  constexpr auto kPause = std::chrono::milliseconds(100);
  constexpr std::size_t kWidth = 30;
  if (!wanted_) return;
  const auto now = Clock::now();
  if (now - begun_ < kPatience || now - shown_ < kPause) return;
  shown_ = now;
  visible_ = true;
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  std::fputs(("\r" + progress_text(title_, done, seconds, kWidth) + "\033[K").c_str(), stderr);
  std::fflush(stderr);
}

Progress ProgressBar::callback() {
  return {[](double done, void* user) {
            static_cast<ProgressBar*>(user)->update(done);
            return !interrupted();
          },
          this};
}

}  // namespace heed::cli
