"""Kernels: functions compiled by Numba, each optimised and translated once.

Numba's own dispatcher optimises every function separately, translates it to machine code, adds a wrapper for calls from
Python and caches all of it; a caller then links it in and does the same again, so the cost grows quadratically with the
call depth. Here a kernel called by another kernel is type-checked and lowered only. A kernel called from Python gets a
wrapper, is optimised together with everything that it calls, and is cached.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numba  # noqa: F401 (waits until a thread that imports it is done, which `numba.core` alone does not)
from numba.core import compiler, sigutils, typed_passes, types, typing, untyped_passes
from numba.core import event as events
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler
from numba.core.registry import CPUDispatcher

from .kernel_cache import KernelCache
from .kernel_references import declare_read_only
from .kernel_signatures import remember_signatures

remember_signatures()


def jit(*, constants: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a kernel; takes the options of `numba.njit`.

    `constants` specializes the kernel for each literal argument: faster to run, slower to compile.
    """
    dispatcher = _Cached if options.get("parallel") else Kernel
    options = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True} | options

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = dispatcher(function, targetoptions=dict(options))
        kernel.enable_caching()
        kernel.constants = constants
        return kernel

    return decorate


class _Cached(CPUDispatcher):
    """Numba's dispatcher with our cache, for parallel loops, which need Numba's own compilation."""

    constants = False

    def enable_caching(self) -> None:
        if Path(self.py_func.__code__.co_filename).is_file():  # not in an interactive interpreter
            self._cache = KernelCache(self.py_func)


class Kernel(_Cached):
    """`overloads` holds the versions linked by kernels, `entries` those called from Python, both by argument types."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions)
        self.entries: dict[tuple[Any, ...], Any] = {}
        self._compiler = _PartCompiler(py_func, self.targetdescr, targetoptions, self.locals, _Pipeline)

    def compile(self, sig: Any) -> Any:
        """Load or compile the version that Python calls with arguments of these types."""
        with global_compiler_lock:
            args, _ = sigutils.normalize_signature(sig)
            if args not in self.entries:
                entry = self._cache.load_overload(sig, self.targetctx)
                if entry is None:
                    self._cache_misses[sig] += 1
                    with _collector_paused():
                        entry = self._with_wrapper(self.link(args))
                    self._cache.save_overload(sig, entry)
                else:
                    self._cache_hits[sig] += 1
                self.entries[args] = entry
                self._insert([argument._code for argument in args], entry.entry_point, False)
            return self.entries[args].entry_point

    def link(self, args: tuple[Any, ...]) -> Any:
        """Compile the version that kernels call: lowered only, as callers optimise it with their own code."""
        with global_compiler_lock, self._compiling_counter:
            if args not in self.overloads:
                data = {"dispatcher": self, "args": args, "return_type": None}
                with events.trigger_event("numba:compile", data=data):
                    part = self._compiler.compile(args, None)
                part = part._replace(entry_point=_Linked())
                part.library.environment = self.targetctx.get_env_name(part.fndesc), part.environment
                self.targetctx.insert_user_function(part.entry_point, part.fndesc, [part.library])
                self.overloads[args] = part
            return self.overloads[args]

    def get_call_template(self, args: Any, kws: Any) -> Any:
        pysig, folded = self._compiler.fold_argument_types(args, kws)
        args = tuple(self._widened(argument) for argument in folded)
        self.link(args)
        name = self.py_func.__name__
        signatures = self.nopython_signatures
        return typing.make_concrete_template(f"CallTemplate({name})", name, signatures), pysig, args, {}

    def _widened(self, argument: Any) -> Any:
        """Widen signed integers to int64 and drop literals, to compile one version, not one per type and value."""
        if self.constants and isinstance(argument, types.Literal):
            return argument
        argument = types.unliteral(argument)
        narrow = isinstance(argument, types.Integer) and argument.signed and argument.bitwidth < 64
        return types.int64 if narrow else argument

    def _with_wrapper(self, part: Any) -> Any:
        context = part.target_context  # with the options of this kernel, such as reference counts
        library = Part(context.codegen(), part.fndesc.qualname)
        library.enable_object_caching()
        with context.push_code_library(library):
            context.create_cpython_wrapper(
                library, part.fndesc, part.environment, part.call_helper, self.targetoptions.get("nogil", False)
            )
        library.add_linking_library(part.library)
        entry = context.get_executable(library, part.fndesc, part.environment)
        return part._replace(library=library, entry_point=entry)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the garbage collector, which would look for cycles among millions of new objects; there are few."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Linked:
    """Placeholder entry point of a kernel without machine code of its own."""


class _PartCompiler(_FunctionCompiler):
    def _compile_core(self, args: Any, return_type: Any) -> Any:
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags = self._customize_flags(flags)
        flags.no_compile = flags.no_cpython_wrapper = True
        context = self.targetdescr.target_context
        library = Part(context.codegen(), self.py_func.__qualname__)
        library.enable_object_caching()
        return compiler.compile_extra(
            self.targetdescr.typing_context,
            context,
            self.py_func,
            args,
            return_type,
            flags,
            self.locals,
            library,
            self.pipeline_class,
        )


class _Pipeline(compiler.CompilerBase):
    """Numba's passes without those for closures, generators, `with`, `literal_unroll` and fused array expressions."""

    LEFT_OUT = frozenset(
        {
            untyped_passes.WithLifting,
            untyped_passes.InlineClosureLikes,
            untyped_passes.RewriteDynamicRaises,
            untyped_passes.MakeFunctionToJitFunction,
            untyped_passes.InlineInlinables,
            untyped_passes.FindLiterallyCalls,
            untyped_passes.LiteralUnroll,
            untyped_passes.LiteralPropagationSubPipelinePass,
            typed_passes.InlineOverloads,
            typed_passes.NopythonRewrites,
            typed_passes.AnnotateTypes,
            typed_passes.DumpParforDiagnostics,
        }
    )

    def define_pipelines(self) -> list[Any]:
        passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [step for step in passes.passes if step[0] not in self.LEFT_OUT]
        passes.finalize()
        return [passes]


class Part(JITCodeLibrary):
    """The code of one kernel, not optimised before its machine code is requested."""

    environment: tuple[str, Any] | None = None  # its name and the object
    _part: Any = None

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._called: list[Any] = []  # libraries of the functions called here

    def add_linking_library(self, library: Any) -> None:
        self._called.append(library)

    def add_ir_module(self, ir_module: Any) -> None:
        for function in ir_module.functions:
            declare_read_only(function)
        super().add_ir_module(ir_module)

    def finalize(self) -> None:
        needed = self._needed()
        for library in needed:
            if isinstance(library, Part):
                self._reload_init.update(library._reload_init)
                self._final_module.link_in(library.part(), preserve=True)
            else:
                self._linking_libraries.append(library)
        super().finalize()
        for library in [self, *needed]:
            if isinstance(library, Part) and library.environment is not None:
                self._codegen.set_env(*library.environment)

    def part(self) -> Any:
        """Return the module of this kernel alone, for linking into others."""
        if self._part is None:
            self._part = self._get_module_for_linking() if self._finalized else _shared(self._final_module.clone())
        return self._part

    def _needed(self) -> list[Any]:
        """Return all libraries called directly or indirectly, callers first: LLVM links only symbols already needed."""
        found: dict[Any, None] = {}

        def visit(library: Any) -> None:
            if library not in found:
                for called in library._called if isinstance(library, Part) else ():
                    visit(called)
                found[library] = None

        for library in self._called:
            visit(library)
        return list(reversed(found))


def _shared(module: Any) -> Any:
    """Allow linking a module into several libraries, each of which keeps what it uses."""
    for function in module.functions:
        if not function.is_declaration and function.linkage.name == "external":
            function.linkage = "linkonce_odr"
    return module
