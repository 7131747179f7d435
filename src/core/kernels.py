"""Kernels: functions compiled by Numba, each optimised and translated once.

Numba's own dispatcher optimises every function by itself, translates it to machine code, makes a wrapper for calls from
Python and keeps all of it in the cache, although a caller then links the whole of it in and does it again: the cost
grows with the square of the depth of calls. Here a kernel that another one calls is type-checked and lowered only. What
Python calls gets a wrapper, is optimised together with everything that it calls, and is kept in the cache.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core import compiler, sigutils, types, typing
from numba.core import event as events
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import _FunctionCompiler
from numba.core.registry import CPUDispatcher

from src.core.kernel_cache import KernelCache


def jit(*, constants: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator for kernels, with the options of `numba.njit`.

    With `constants` a kernel has a version for each constant that it is called with: faster, and slower to compile.
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
    """Numba's dispatcher over our cache; loops that run in parallel need its own way of compiling."""

    constants = False

    def enable_caching(self) -> None:
        if Path(self.py_func.__code__.co_filename).is_file():  # not what was typed into an interpreter
            self._cache = KernelCache(self.py_func)


class Kernel(_Cached):
    """`overloads` holds what other kernels link, `entries` what Python calls, both by argument types."""

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions)
        self.entries: dict[tuple[Any, ...], Any] = {}
        self._compiler = _PartCompiler(py_func, self.targetdescr, targetoptions, self.locals, compiler.Compiler)

    def compile(self, sig: Any) -> Any:
        """Make the version that Python calls with arguments of these types, or load it."""
        with global_compiler_lock:
            args, _ = sigutils.normalize_signature(sig)
            if args not in self.entries:
                entry = self._cache.load_overload(sig, self.targetctx)
                if entry is None:
                    self._cache_misses[sig] += 1
                    entry = self._with_wrapper(self.link(args))
                    self._cache.save_overload(sig, entry)
                else:
                    self._cache_hits[sig] += 1
                self.entries[args] = entry
                self._insert([argument._code for argument in args], entry.entry_point, False)
            return self.entries[args].entry_point

    def link(self, args: tuple[Any, ...]) -> Any:
        """Make the version that kernels call: neither optimised nor translated, as they do that with their own."""
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
        """One version for all signed integers and constants, where Numba would compile one for each type and value."""
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


class _Linked:
    """Stands for the machine code of a kernel that has none of its own."""


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
            self.targetdescr.typing_context, context, self.py_func, args, return_type, flags, self.locals, library
        )


class Part(JITCodeLibrary):
    """The code of one kernel, which is not optimised before somebody asks for its machine code."""

    environment: tuple[str, Any] | None = None  # its name and the object
    _part: Any = None

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._called: list[Any] = []  # libraries of what is called from here

    def add_linking_library(self, library: Any) -> None:
        self._called.append(library)

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
        """The module of this kernel alone, for linking into many others."""
        if self._part is None:
            self._part = self._get_module_for_linking() if self._finalized else _shared(self._final_module.clone())
        return self._part

    def _needed(self) -> list[Any]:
        """All libraries called from here, directly or not, each before those that it calls: LLVM links only what is
        asked for already.
        """
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
    """Let a module be linked into several libraries, where each keeps what it uses."""
    for function in module.functions:
        if not function.is_declaration and function.linkage.name == "external":
            function.linkage = "linkonce_odr"
    return module
