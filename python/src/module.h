// heed._core: what each file adds to the extension module.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace heed::python {

void bind_attention(pybind11::module_& m);
void bind_cache(pybind11::module_& m);
void bind_explain(pybind11::module_& m);
void bind_layer(pybind11::module_& m);

}  // namespace heed::python
