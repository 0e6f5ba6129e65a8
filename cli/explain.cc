// heed explain: attention worked out step by step, on anyone's numbers.
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/explain_kernel.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "heed/io.h"
#include "heed/render.h"

namespace heed::cli {
namespace {

using namespace heed::explain;

struct Arguments {
  std::string file, text, mask, scale, at, view = "entry", batch = "all", color = "auto";
  std::string format = "text", output;
  std::vector<std::string> steps;
  std::uint64_t random = 0, seed = 7;
  std::size_t tokens = 3, dim = 4, heads = 0, width = 0;
  int digits = 4, verbose = 0;
  bool quiet = false, ascii = false;
  bool has_random = false, has_text = false, has_tokens = false, has_dim = false;
};

double parse_scale(const std::string& text) {
  if (text == "none") return 1;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0')
    throw Error("scale: is \"" + text + "\", expected auto, none or a number");
  return value;
}

// Tokens from --text over a file's weights: its X is renamed when the words fit, drawn otherwise.
void set_text(Problem& problem, const Arguments& args) {
  const std::vector<std::string> words = split_words(args.text);
  if (words.empty()) throw Error("text: has no words");
  if (problem.sequences.size() != 1)
    throw Error("text: the problem has " + std::to_string(problem.sequences.size()) +
                " sequences, expected 1");
  Sequence& s = problem.sequences.front();
  const std::size_t rows = s.x.empty() && !s.q.empty() ? s.q.front().rows : s.x.rows;
  if (rows != words.size())
    throw Error("text: has " + std::to_string(words.size()) + " words but the problem has " +
                std::to_string(rows) + " tokens");
  s.tokens = words;
}

Problem make_problem(const Arguments& args) {
  const bool generates = args.file.empty();
  if (!generates && args.has_random)
    throw Error("explain: give a problem file or --random, not both");
  if (generates && !args.has_text && !args.has_random)
    throw Error("explain: give a problem file (- for standard input), --text or --random");
  Problem problem;
  if (generates) {
    GenerateOptions options;
    options.seed = args.has_random ? args.random : args.seed;
    if (args.has_text) {
      options.tokens = split_words(args.text);
      if (options.tokens.empty()) throw Error("text: has no words");
      if (args.has_tokens && args.tokens != options.tokens.size())
        throw Error("tokens: is " + std::to_string(args.tokens) + " but the text has " +
                    std::to_string(options.tokens.size()) + " words");
    }
    options.count = args.tokens;
    options.dim = args.dim;
    options.heads = args.heads == 0 ? 1 : args.heads;
    problem = generate(options);
    problem.title = args.has_text ? args.text : "Random attention";
  } else {
    if (args.has_dim || args.has_tokens)
      throw Error("explain: --tokens and --dim belong to --text and --random");
    problem = read_problem(args.file);
    if (args.has_text) set_text(problem, args);
    if (args.heads != 0) set_heads(problem, args.heads);
  }
  if (!args.mask.empty()) set_mask(problem, args.mask);
  if (args.scale == "auto")
    problem.scale.reset();
  else if (!args.scale.empty())
    problem.scale = parse_scale(args.scale);
  return problem;
}

View parse_view(const std::string& name) {
  if (name == "entry") return View::entry;
  if (name == "row") return View::row;
  if (name == "col" || name == "column") return View::column;
  if (name == "outer") return View::outer;
  throw Error("view: is \"" + name + "\", expected entry, row, col or outer");
}

std::optional<std::size_t> parse_batch(const std::string& text, std::size_t batches) {
  if (text == "all") return {};
  std::size_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || number < 1 ||
      number > batches)
    throw Error("batch: is \"" + text + "\", expected all or a number from 1 to " +
                std::to_string(batches));
  return number - 1;
}

bool wants_color(const Arguments& args) {
  if (args.color == "always") return true;
  if (args.color == "never" || !args.output.empty()) return false;
  if (args.color != "auto")
    throw Error("color: is \"" + args.color + "\", expected auto, always or never");
  const char *no_color = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
  const bool refused = (no_color != nullptr && *no_color != '\0') ||
                       (term != nullptr && std::string_view(term) == "dumb");
  return is_terminal(stdout) && !refused;
}

void require_steps(const Trace& trace, const std::vector<std::string>& steps) {
  for (const std::string& step : steps) {
    std::string have;
    bool found = false;
    for (const Node& node : trace.nodes) {
      if (node.op == Op::input || node.batch != 0 || node.head != 0) continue;
      const std::string key = describe(trace, node).key;
      found = found || key == step;
      have += (have.empty() ? "" : ", ") + key;
    }
    if (!found)
      throw Error(fmt::format("step: there is no \"{}\" in this problem; it has {}", step, have));
  }
}

RenderOptions make_options(const Arguments& args, const Trace& trace) {
  RenderOptions options;
  options.detail = args.quiet          ? Detail::output
                   : args.verbose >= 2 ? Detail::full
                   : args.verbose == 1 ? Detail::entries
                                       : Detail::normal;
  if (args.digits < 0 || args.digits > 17)
    throw Error("digits: is " + std::to_string(args.digits) + ", expected 0 to 17");
  options.digits = args.digits;
  options.batch = parse_batch(args.batch, trace.sizes.batch);
  options.steps = args.steps;
  require_steps(trace, args.steps);
  if (!args.at.empty()) options.at = parse_entry(trace, args.at, options.batch.value_or(0));
  options.view = parse_view(args.view);
  options.ascii = args.ascii;
  options.color = wants_color(args);
  const std::size_t terminal = args.output.empty() ? terminal_width(stdout) : 0;
  options.width = args.width != 0 ? args.width : terminal != 0 ? terminal : 80;
  if (options.detail == Detail::full && !options.at) options.kernel = run_kernel(trace);
  return options;
}

void run(const Arguments& args) {
  const Format format = parse_format(args.format);
  const Trace t = trace(make_problem(args));
  write_output(args.output, render(t, format, make_options(args, t)));
}

}  // namespace

void add_explain(CLI::App& app) {
  CLI::App* command = app.add_subcommand("explain", "Work attention out step by step");
  const auto args = std::make_shared<Arguments>();
  command->add_option("FILE", args->file, "problem file (JSON), - for standard input");
  auto* text = command->add_option("--text", args->text, "a sentence; one token per word");
  auto* random = command->add_option("--random", args->random, "random problem of this seed");
  command->add_option("--seed", args->seed, "seed of what --text generates")->capture_default_str();
  auto* tokens = command->add_option("--tokens", args->tokens, "tokens of a random problem");
  auto* dim = command->add_option("--dim", args->dim, "dimension of a generated problem");
  command->add_option("--heads", args->heads, "heads that the columns are shared out to");
  command->add_option("--mask", args->mask, "none, causal, pad:N or a file");
  command->add_option("--scale", args->scale, "auto (1/sqrt d_k), none or a number");
  command
      ->add_option("--step", args->steps,
                   "only these steps: q,k,v,scores,scale,mask,softmax,out,concat,wo")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--at", args->at, "one entry spelled out: S[2,3] or S[love,AI]");
  command->add_option("--view", args->view, "products by entry, row, col or outer")
      ->capture_default_str();
  command->add_option("--batch", args->batch, "all, or one sequence of the batch")
      ->capture_default_str();
  command->add_flag("-q,--quiet", args->quiet, "the output only");
  command->add_flag("-v,--verbose", args->verbose, "every entry; twice: 17 digits and the kernel");
  command->add_option("--digits", args->digits, "decimals")->capture_default_str();
  command->add_option("--color", args->color, "auto, always or never")->capture_default_str();
  command->add_flag("--ascii", args->ascii, "nothing but ASCII");
  command->add_option("--format", args->format, "text, md, latex, svg, html or json")
      ->capture_default_str();
  command->add_option("-o,--output", args->output, "file to write instead of standard output");
  command->add_option("--width", args->width,
                      "columns of the page (default: the terminal's, or 80)");
  command->callback([args, text, random, tokens, dim] {
    args->has_text = text->count() > 0;
    args->has_random = random->count() > 0;
    args->has_tokens = tokens->count() > 0;
    args->has_dim = dim->count() > 0;
    run(*args);
  });
}

}  // namespace heed::cli
