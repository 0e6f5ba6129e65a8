#include "bench/harness/pieces.h"

#include <algorithm>
#include <numeric>

namespace heed::bench {

Progress Pieces::progress() {
  return {[](double, void* user) {
            static_cast<Pieces*>(user)->cut();
            return true;
          },
          this};
}

void Pieces::begin() {
  next_ = 0;
  last_ = now_();
}

void Pieces::end() {
  cut();
}

void Pieces::cut() {
  const double now = now_(), took = now - last_;
  if (next_ == fastest_.size())
    fastest_.push_back(took);
  else
    fastest_[next_] = std::min(fastest_[next_], took);
  ++next_;
  last_ = now_();
}

double Pieces::seconds() const {
  return std::accumulate(fastest_.begin(), fastest_.end(), 0.0);
}

}  // namespace heed::bench
