// heed._core.Trace, check: the trace, its renderers and the marking of solutions.
#include <pybind11/numpy.h>

#include <memory>

#include "heed/check.h"
#include "heed/problem.h"
#include "heed/render.h"
#include "heed/trace.h"
#include "module.h"

namespace heed::python {
namespace {

namespace py = pybind11;
using explain::Node;
using explain::Trace;

// A node's matrix as an array that keeps the trace alive.
py::array values_of(const py::object& owner, const Node& node) {
  const auto rows = static_cast<py::ssize_t>(node.values.rows);
  const auto cols = static_cast<py::ssize_t>(node.values.cols);
  py::array_t<double> array({rows, cols}, node.values.values.data(), owner);
  array.attr("flags").attr("writeable") = false;
  return array;
}

py::dict node_of(const py::object& owner, const Node& node) {
  py::dict result;
  result["id"] = node.id;
  result["op"] = explain::name_of(node.op);
  result["inputs"] = node.inputs;
  result["batch"] = node.batch;
  result["head"] = node.head;
  result["row_labels"] = node.row_labels;
  result["col_labels"] = node.col_labels;
  result["values"] = values_of(owner, node);
  return result;
}

explain::RenderOptions render_options(int detail, int digits, std::vector<std::string> steps) {
  if (detail < -1 || detail > 2)
    throw py::value_error("detail is " + std::to_string(detail) + ", expected -1, 0, 1 or 2");
  explain::RenderOptions options;
  options.detail = static_cast<explain::Detail>(detail + 1);
  options.digits = digits;
  options.steps = std::move(steps);
  return options;
}

}  // namespace

void bind_explain(py::module_& m) {
  py::class_<Trace, std::shared_ptr<Trace>>(m, "Trace")
      .def(py::init([](const std::string& problem, const std::string& folder) {
        return std::make_shared<Trace>(explain::trace(explain::parse_problem(problem, folder)));
      }))
      .def("node",
           [](const py::object& self, const std::string& id, std::size_t batch, std::size_t head) {
             return node_of(self, self.cast<const Trace&>().at(id, batch, head));
           })
      .def("ids",
           [](const Trace& trace) {
             std::vector<std::tuple<std::string, std::size_t, std::size_t>> ids;
             for (const Node& node : trace.nodes) ids.emplace_back(node.id, node.batch, node.head);
             return ids;
           })
      .def("to_json", [](const Trace& trace) { return explain::to_json(trace); })
      .def("render",
           [](const Trace& trace, const std::string& format, int detail, int digits,
              std::vector<std::string> steps) {
             return explain::render(trace, explain::parse_format(format),
                                    render_options(detail, digits, std::move(steps)));
           })
      .def("expand",
           [](const Trace& trace, const std::string& entry, std::size_t batch, std::size_t head) {
             explain::RenderOptions options;
             options.at = explain::parse_entry(trace, entry, batch, head);
             return explain::render(trace, explain::Format::text, options);
           })
      .def("check", [](const Trace& trace, const std::string& solution) {
        const auto report = explain::check(trace, explain::parse_solution(solution, trace));
        return py::make_tuple(report.passed(), explain::to_json(report),
                              explain::render_text(trace, report));
      });
}

}  // namespace heed::python
