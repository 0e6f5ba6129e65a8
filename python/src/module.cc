// heed._core: the extension module behind the Python package `heed`.
#include "module.h"

#include "heed/error.h"
#include "heed/version.h"

PYBIND11_MODULE(_core, m) {
  m.doc() = "heed's C++ core; use the package heed instead";
  m.attr("__version__") = HEED_VERSION;
  pybind11::register_exception_translator([](std::exception_ptr pending) {
    try {
      if (pending) std::rethrow_exception(pending);
    } catch (const heed::Error& e) {
      PyErr_SetString(PyExc_ValueError, e.what());
    }
  });
  heed::python::bind_attention(m);
  heed::python::bind_explain(m);
  heed::python::bind_layer(m);
}
