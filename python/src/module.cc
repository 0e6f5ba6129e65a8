// heed._core: the extension module behind the Python package `heed`.
#include "module.h"

#include <string>

#include "heed/error.h"
#include "heed/kv_cache.h"
#include "heed/version.h"

namespace {

// pybind11 reads NumPy's arrays as NumPy 1 lays them out before its version 2.12.
void require_known_numpy() {
#if PYBIND11_VERSION_HEX < 0x020C0000
  namespace py = pybind11;
  const auto version = py::module_::import("numpy").attr("__version__").cast<std::string>();
  if (std::stoi(version) < 2) return;
  const std::string text = "heed was built with pybind11 " +
                           std::to_string(PYBIND11_VERSION_MAJOR) + "." +
                           std::to_string(PYBIND11_VERSION_MINOR) + ", which does not know NumPy " +
                           version + ": build it with pybind11 2.12 or later (pip install does)";
  throw py::import_error(text);
#endif
}

}  // namespace

PYBIND11_MODULE(_core, m) {
  require_known_numpy();
  m.doc() = "heed's C++ core; use the package heed instead";
  m.attr("__version__") = HEED_VERSION;
  pybind11::register_exception_translator([](std::exception_ptr pending) {
    try {
      if (pending) std::rethrow_exception(pending);
    } catch (const heed::CacheFull& e) {
      PyErr_SetString(PyExc_MemoryError, e.what());
    } catch (const heed::Error& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    }
  });
  heed::python::bind_attention(m);
  heed::python::bind_cache(m);
  heed::python::bind_explain(m);
  heed::python::bind_layer(m);
}
