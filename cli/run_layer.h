// heed run --from FILE --layer NAME: a multi-head layer whose weights lie in a file.
#pragma once

#include "cli/run.h"

namespace heed::cli {

void run_layer(const RunOptions& flags);

}  // namespace heed::cli
