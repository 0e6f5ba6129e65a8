// What `heed bench` prints.
#pragma once

#include <string>

#include "bench/harness/suite.h"

namespace heed::cli {

std::string bench_table(const bench::Report& report);  // for people, 80 columns
std::string bench_json(const bench::Report& report);   // for tools
std::string bench_shapes_help();                       // what the names of the shapes stand for

}  // namespace heed::cli
