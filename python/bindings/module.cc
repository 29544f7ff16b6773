// SPDX-License-Identifier: MIT
// The Python module repdl._core. It knows no op by name: the table says what there is.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "callable.h"
#include "case_bindings.h"
#include "copy_strided.h"
#include "each_callable.h"
#include "generator_word.h"
#include "op_callable.h"
#include "openmp.h"
#include "override_callable.h"
#include "python_math.h"
#include "random_key.h"
#include "repdl/cuda.h"
#include "repdl/error.h"
#include "repdl/golden.h"
#include "repdl/load_ops.h"
#include "repdl/target.h"
#include "repdl/threads.h"
#include "repdl/version.h"
#include "replaced_function.h"
#include "tensor_source.h"
#include "tensors.h"
#include "torch_kernels.h"
#include "torch_writes.h"

namespace nb = nanobind;
using namespace repdl;

namespace {

/// Writes an op into the table: name -> callable, and name -> what it takes.
void Enter(const OpInfo& op, const nb::module_& m) {
  const std::string name(op.name);
  nb::list list;
  for (const ArgInfo& arg : op.args) {
    list.append(nb::make_tuple(std::string(arg.name), std::string(arg.type), std::string(arg.default_text)));
  }
  nb::list held;
  for (DType dtype : {DType::kBFloat16, DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
    if (op.dtypes.Has(dtype)) held.append(std::string(Name(dtype)));
  }
  nb::list kernels;
  for (const KernelInfo& kernel : op.kernels) kernels.append(std::string(kernel.name));
  m.attr("kernels")[name.c_str()] = nb::tuple(kernels);
  m.attr("schemas")[name.c_str()] = op.Schema();
  m.attr("arguments")[name.c_str()] = nb::tuple(list);
  m.attr("dtypes")[name.c_str()] = nb::tuple(held);
  m.attr("ops")[name.c_str()] = MakeOpCallable(op);
}

}  // namespace

NB_MODULE(repdl_core, m) {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const TypeError& error) {
      PyErr_SetString(PyExc_TypeError, error.what());
    } catch (const NotImplementedError& error) {
      PyErr_SetString(PyExc_NotImplementedError, error.what());
    }
  });
  // A REPDL_TARGET that cannot be had is an error now, not in the middle of a program.
  ActiveTarget();

  m.attr("__version__") = REPDL_VERSION;
  m.attr("arithmetic_version") = kArithmeticVersion;
  m.attr("has_cuda") = HasCuda();

  for (const char* column : {"ops", "schemas", "arguments", "dtypes", "kernels"}) m.attr(column) = nb::dict();
  for (const OpInfo& op : AllOps()) Enter(op, m);
  m.def(
      "load_ops",
      [](const std::string& path) {
        const nb::module_ module = nb::module_::import_("repdl._core");
        const nb::dict known = nb::cast<nb::dict>(module.attr("ops"));
        std::vector<std::string> names;
        for (const OpInfo& op : LoadOps(path)) {
          names.emplace_back(op.name);
          if (!known.contains(names.back().c_str())) Enter(op, module);
        }
        return names;
      },
      nb::arg("path"));
  m.def(
      "channels_last",
      [](std::string_view name) {
        const OpInfo* op = FindOp(name);
        if (op == nullptr) throw ValueError(Message("there is no op '", name, "'"));
        return MakeChannelsLastCallable(*op);
      },
      nb::arg("op"));
  m.def(
      "infer",
      [](std::string_view name, const nb::args& args) {
        const OpInfo* op = FindOp(name);
        if (op == nullptr) throw ValueError(Message("there is no op '", name, "'"));
        return InferOutputs(*op, args);
      },
      nb::arg("op"), nb::arg("args"));

  nb::enum_<Target>(m, "OverrideTarget")
      .value("NEW", Target::kNew)
      .value("FIRST_ARGUMENT", Target::kFirstArgument)
      .value("OUT", Target::kOut);
  nb::enum_<Numbers>(m, "OverrideNumbers")
      .value("REAL", Numbers::kReal)
      .value("COMPLEX", Numbers::kComplex)
      .value("COMPLEX_TO_REAL", Numbers::kComplexToReal)
      .value("REAL_TO_COMPLEX", Numbers::kRealToComplex);
  nb::enum_<Result>(m, "OverrideResult")
      .value("SAME", Result::kSame)
      .value("TRANSPOSED", Result::kTransposed)
      .value("INT32", Result::kInt32)
      .value("LEFT_OUT", Result::kLeftOut)
      .value("ZEROS", Result::kZeros);
  m.def(
      "make_override",
      [](std::string_view name, Target target, const nb::object& fallback, Numbers numbers, bool pointwise, bool low,
         bool contiguous, int rank, bool alike, bool in_place, const nb::dict& constants, const nb::dict& choices,
         const nb::dict& moved, std::string last_dims, std::string below_terms, std::vector<std::string> transposed,
         std::vector<Result> results) {
        const OpInfo* op = FindOp(name);
        if (op == nullptr) throw ValueError(Message("there is no op '", name, "'"));
        Ordinary ordinary{numbers,
                          pointwise,
                          low,
                          contiguous,
                          rank,
                          alike,
                          in_place,
                          {},
                          {},
                          {},
                          std::move(last_dims),
                          std::move(below_terms),
                          std::move(transposed),
                          std::move(results)};
        for (auto [place, value] : constants) {
          ordinary.constants.push_back(MakeConstant(nb::cast<Py_ssize_t>(place), value.ptr()));
        }
        for (auto [place, names] : choices) ordinary.choices.push_back({nb::cast<Py_ssize_t>(place), names.ptr()});
        for (auto [place, argument] : moved) ordinary.moved.push_back({nb::cast<Py_ssize_t>(place), argument.ptr()});
        return MakeOverrideCallable(*op, target, ordinary, fallback);
      },
      nb::arg("op"), nb::arg("target"), nb::arg("fallback"), nb::kw_only(), nb::arg("numbers") = Numbers::kReal,
      nb::arg("pointwise") = false, nb::arg("low") = false, nb::arg("contiguous") = false, nb::arg("rank") = 0,
      nb::arg("alike") = false, nb::arg("in_place") = false, nb::arg("constants") = nb::dict(),
      nb::arg("choices") = nb::dict(), nb::arg("moved") = nb::dict(), nb::arg("last_dims") = "",
      nb::arg("below_terms") = "", nb::arg("transposed") = std::vector<std::string>(),
      nb::arg("results") = std::vector<Result>());
  m.def("make_each", &MakeEachCallable, nb::arg("kernel"), nb::arg("first_named"), nb::arg("names"),
        nb::arg("changed").none(), nb::arg("fallback"));
  m.def(
      "make_each_op",
      [](std::string_view name, const nb::object& changed, const nb::object& fallback) {
        const OpInfo* op = FindOp(name);
        if (op == nullptr) throw ValueError(Message("there is no op '", name, "'"));
        return MakeEachOp(*op, changed, fallback);
      },
      nb::arg("op"), nb::arg("changed"), nb::arg("fallback"));
  m.def("make_for_reals", &MakeForReals, nb::arg("boxed"), nb::arg("keys"), nb::arg("fallback"));
  m.def("set_order_source", &SetOrderSource, nb::arg("source"));
  m.def("set_default_order", &SetDefaultOrder, nb::arg("order"));
  m.def("set_has_keys", &SetHasKeys, nb::arg("has"));
  m.def("get_order", [] { return Name(CurrentOrder()); });

  m.def("set_num_threads", &SetFixedThreads, nb::arg("n"), nb::sig("def set_num_threads(n: int) -> None"),
        "Sets the number of threads of the ops in this process, from 1 to 1024; no result depends on it.\n\n"
        "Raises:\n    TypeError: for what is no integer.\n    ValueError: for any other number.");
  m.def("get_num_threads", &CurrentThreads,
        "The number of threads of the ops: what was set, else torch's, else OMP_NUM_THREADS or the cores of this "
        "process.");
  m.def("set_threads_source", &SetThreadsSource, nb::arg("source"));

  m.def("set_maker", &SetMaker, nb::arg("type"), nb::arg("make"), nb::arg("dtypes"));

  m.def("set_tensor_source", &SetTensorSource, nb::arg("functions"), nb::arg("sample"), nb::arg("address"),
        nb::arg("plain"));
  m.def("set_kernel_functions", &SetKernelFunctions, nb::arg("functions"), nb::arg("in_python"));
  m.def("put_kernel", &PutKernel, nb::arg("name"), nb::arg("function"), nb::arg("arguments"), nb::arg("num_results"),
        nb::arg("native").none(), nb::arg("put"));
  m.def("set_key_source", &SetKeySource, nb::arg("draw"), nb::arg("keys"), nb::arg("make_cell"),
        nb::arg("default_generator"), nb::arg("of_device"), nb::arg("default_on"));
  m.def("set_word_source", &SetWordSource, nb::arg("random64"), nb::arg("current_seed"), nb::arg("key_set"),
        nb::arg("generator"));
  m.def("set_first_draw", &SetFirstDraw, nb::arg("call").none());
  m.def(
      "draw_key",
      [](const nb::object& generator, std::optional<int> cuda_device) {
        try {
          return DrawKey(generator.ptr(), cuda_device);
        } catch (const PythonError&) {
          throw nb::python_error();
        }
      },
      nb::arg("generator").none(), nb::arg("cuda_device") = nb::none());

  m.def("replace_function", &ReplaceFunction, nb::arg("function"), nb::arg("make"));
  m.def("replace_new", &ReplaceNew, nb::arg("type"), nb::arg("make"));
  m.def("restore_function", &RestoreFunction, nb::arg("function_or_type"));
  m.def("fill_tensor", &FillTensor, nb::arg("tensor"), nb::arg("pattern"));
  m.def("fill_memory", &FillMemory, nb::arg("address"), nb::arg("bytes"), nb::arg("pattern"));
  m.def("copy_strided", &CopyStrided, nb::arg("address"), nb::arg("shape"), nb::arg("strides"), nb::arg("item_size"),
        nb::arg("to"));

  m.def("write_functions", &WriteFunctions);
  m.def("watch_writes", &WatchWrites, nb::arg("functions"), nb::arg("refuses"));
  m.def("end_watch", &EndWatch);
  m.def("view_overlaps", &ViewOverlaps, nb::arg("size"), nb::arg("stride"));

  m.def("replace_math", &ReplaceMath, nb::arg("objects"));
  m.def("restore_math", &RestoreMath);

  m.def("share_openmp", &ShareOpenMp);
  m.def("set_openmp_threads", &SetOpenMpThreads, nb::arg("count"));

  m.def("read_case", &ReadCase, nb::arg("text"));
  m.def("read_golden", &ReadGoldenLines, nb::arg("path"));
  m.def("run_case", &RunCase, nb::arg("text"), nb::arg("place"), nb::arg("threads"));
  m.def("explain_case", &ExplainCase, nb::arg("digest"), nb::arg("marks"), nb::arg("text"), nb::arg("place"),
        nb::arg("threads"));
  m.def("places", &Places);

  m.def("compiled_targets", &CompiledTargets);
  m.def("supported_targets", &SupportedTargets);
  m.def("active_target", &ActiveTarget);
  m.def("set_target", &SetTarget, nb::arg("name"));
  m.def("cuda_devices", &CudaDevices);
}

/// What `import repdl._core` calls. nanobind keeps its state in a global variable, which a second interpreter of the
/// process would take from the first.
extern "C" NB_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
    PyErr_SetString(PyExc_ImportError,
                    "repdl works in the main interpreter of a process only; use threads or processes instead of "
                    "sub-interpreters");
    return nullptr;
  }
  return PyInit_repdl_core();
}
