"""A compiler of kernels on top of internals of Numba; `kernels.py` falls back to `numba.njit` where it does not work.

Numba's own dispatcher optimizes every function separately, translates it to machine code, adds a wrapper for calls from
Python and caches all of it; a caller then links it in and does the same again, so the cost grows quadratically with the
call depth. Here a kernel called by another kernel is type-checked and lowered only. A kernel called from Python gets a
wrapper, is optimized together with everything that it calls, and is cached.
"""

import hashlib
import pickle
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import cgutils, compiler, sigutils, types, typing
from numba.core import event as events
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.datamodel import models
from numba.core.dispatcher import _FunctionCompiler
from numba.core.imputils import impl_ret_borrowed
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.core.typing.templates import AttributeTemplate
from numba.core.typing.typeof import typeof as numba_typeof
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, register_model, typeof_impl, unbox


def link(function: Any, files: Path | None, constants: bool, options: dict[str, Any]) -> Any:
    """Return a kernel whose compiled versions are kept in the folder `files`, if there is one."""
    options = {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True} | options
    # Parallel loops need Numba's own compilation.
    kernel: Any = (CPUDispatcher if options.get("parallel") else Kernel)(function, None, options)
    kernel.constants = constants
    if files is not None:
        kernel._cache = _Files(function, files)
    return kernel


class _Files:
    """The compiled versions of one kernel: a file for each, which starts with a digest of its content."""

    def __init__(self, function: Any, folder: Path) -> None:
        self._function, self._folder = function, folder

    def load_overload(self, sig: Any, context: Any) -> Any:
        context.refresh()
        try:
            content = self._path(sig, context.codegen()).read_bytes()
        except OSError:
            return None
        if hashlib.sha256(content[32:]).digest() != content[:32]:  # truncated or damaged
            return None
        return compiler.CompileResult._rebuild(context, *pickle.loads(content[32:]))  # noqa: S301 (as Numba does)

    def save_overload(self, sig: Any, result: Any) -> None:
        """Replace the file atomically, as other processes read it; a failed write only loses the cache entry."""
        if result.library.has_dynamic_globals:  # addresses of this process
            return
        payload, path = dumps(result._reduce()), self._path(sig, result.codegen)
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:16]}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(hashlib.sha256(payload).digest() + payload)
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)

    def _path(self, sig: Any, codegen: Any) -> Path:
        code = self._function.__code__
        captured = dumps([cell.cell_contents for cell in self._function.__closure__ or ()])
        key = repr((sig, codegen.magic_tuple(), code.co_code, captured))
        digest = hashlib.sha256(key.encode()).hexdigest()[:16]
        return self._folder / f"{code.co_name}-{code.co_firstlineno}.{digest}.nbc"


class Kernel(CPUDispatcher):
    """`overloads` holds the versions linked by kernels, `entries` those called from Python, both by argument types."""

    constants = False

    def __init__(self, py_func: Any, locals: Any = None, targetoptions: Any = None) -> None:
        super().__init__(py_func, locals, targetoptions)
        self.entries: dict[tuple[Any, ...], Any] = {}
        self._compiler = _PartCompiler(py_func, self.targetdescr, targetoptions, self.locals, compiler.Compiler)

    def compile(self, sig: Any) -> Any:
        """Load or compile the version that Python calls with arguments of these types."""
        with global_compiler_lock:
            args, _ = sigutils.normalize_signature(sig)
            if args not in self.entries:
                entry = self._cache.load_overload(sig, self.targetctx)
                (self._cache_misses if entry is None else self._cache_hits)[sig] += 1
                if entry is None:
                    entry = self._with_wrapper(self.link(args))
                    self._cache.save_overload(sig, entry)
                self.entries[args] = entry
                self._insert([argument._code for argument in args], entry.entry_point, False)
            return self.entries[args].entry_point

    def link(self, args: tuple[Any, ...]) -> Any:
        """Compile the version that kernels call: lowered only, as callers optimize it with their own code."""
        with global_compiler_lock, self._compiling_counter:
            if args not in self.overloads:
                data = {"dispatcher": self, "args": args, "return_type": None}
                with events.trigger_event("numba:compile", data=data):
                    part = self._compiler.compile(args, None)
                part = part._replace(entry_point=object())  # only a key: it has no machine code of its own
                part.library.environment = self.targetctx.get_env_name(part.fndesc), part.environment
                self.targetctx.insert_user_function(part.entry_point, part.fndesc, [part.library])
                self.overloads[args] = part
            return self.overloads[args]

    def get_call_template(self, args: Any, kws: Any) -> Any:
        pysig, folded = self._compiler.fold_argument_types(args, kws)
        args = tuple(self._widened(argument) for argument in folded)
        self.link(args)
        name = self.py_func.__name__
        template = typing.make_concrete_template(f"CallTemplate({name})", name, self.nopython_signatures)
        return template, pysig, args, {}

    def _widened(self, argument: Any) -> Any:
        """Widen signed integers to int64 and drop literals, to compile one version, not one per type and value."""
        if self.constants and isinstance(argument, types.Literal):
            return argument
        argument = types.unliteral(argument)
        narrow = isinstance(argument, types.Integer) and argument.signed and argument.bitwidth < 64
        return types.int64 if narrow else argument

    def _with_wrapper(self, part: Any) -> Any:
        context = part.target_context  # with the options of this kernel, such as reference counts
        library = _Part(context.codegen(), part.fndesc.qualname)
        library.enable_object_caching()
        with context.push_code_library(library):
            context.create_cpython_wrapper(
                library, part.fndesc, part.environment, part.call_helper, self.targetoptions.get("nogil", False)
            )
        library.add_linking_library(part.library)
        entry = context.get_executable(library, part.fndesc, part.environment)
        return part._replace(library=library, entry_point=entry)


class _PartCompiler(_FunctionCompiler):
    def _compile_core(self, args: Any, return_type: Any) -> Any:
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags = self._customize_flags(flags)
        flags.no_compile = flags.no_cpython_wrapper = True
        typing_context, context = self.targetdescr.typing_context, self.targetdescr.target_context
        library = _Part(context.codegen(), self.py_func.__qualname__)
        library.enable_object_caching()
        return compiler.compile_extra(
            typing_context, context, self.py_func, args, return_type, flags, self.locals, library, self.pipeline_class
        )


class _Part(JITCodeLibrary):
    """The code of one kernel, not optimized before its machine code is requested."""

    environment: tuple[str, Any] | None = None  # its name and the object
    _part: Any = None

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self._called: list[Any] = []  # libraries of the functions called here

    def add_linking_library(self, library: Any) -> None:
        self._called.append(library)

    def add_ir_module(self, ir_module: Any) -> None:
        """Declare the blocks of `Reference` arguments unaliased: nothing writes to them, so LLVM reads them once."""
        for function in ir_module.functions:
            for argument in function.args[2:]:  # after the places of the result and of an exception
                kind = argument.type
                if isinstance(kind, ir.PointerType) and isinstance(kind.pointee, ir.LiteralStructType):
                    argument.add_attribute("noalias")
        super().add_ir_module(ir_module)

    def finalize(self) -> None:
        needed = list(dict.fromkeys(self._called))
        for library in needed:  # callers first: LLVM links only symbols already needed
            if isinstance(library, _Part):
                needed += [called for called in dict.fromkeys(library._called) if called not in needed]
                self._reload_init.update(library._reload_init)
                self._final_module.link_in(library.part(), preserve=True)
            else:
                self._linking_libraries.append(library)
        super().finalize()
        for library in [self, *needed]:
            if isinstance(library, _Part) and library.environment is not None:
                self._codegen.set_env(*library.environment)

    def part(self) -> Any:
        """Return the module of this kernel alone; each library that it is linked into keeps what it uses."""
        if self._part is None and self._finalized:
            self._part = self._get_module_for_linking()
        elif self._part is None:
            self._part = self._final_module.clone()
            for function in self._part.functions:
                if not function.is_declaration and function.linkage.name == "external":
                    function.linkage = "linkonce_odr"
        return self._part


def by_reference(cls: Any) -> Any:
    """Let kernels pass on the address of a tuple.

    Numba passes a tuple of arrays by value: seven words for each array, in every call. With thirty arrays, most of the
    code to compile copies them. Here a tuple is unpacked into one block of memory where Python calls a kernel.
    """

    @typeof_impl.register(cls)
    def typeof(value: Any, context: Any) -> Reference:
        return Reference(cls, tuple(numba_typeof(member, context.purpose) for member in value))

    return cls


class Reference(types.Type):
    """The type of such a tuple: its class and the types of its members."""

    def __init__(self, cls: Any, members: tuple[Any, ...]) -> None:
        self.cls, self.members = cls, members
        # Short, as it is part of the name of every function that takes one.
        digest = hashlib.sha256(repr(members).encode()).hexdigest()[:16]
        super().__init__(f"{cls.__module__}.{cls.__qualname__}.{digest}")


@register_model(Reference)
class _Model(models.PrimitiveModel):
    block: Any  # the type of the memory that it points to

    def __init__(self, manager: Any, of: Reference) -> None:
        lookups = [manager.lookup(member) for member in of.members]
        fields = [model.block if isinstance(model, _Model) else model.get_data_type() for model in lookups]
        self.block = ir.LiteralStructType(fields)
        super().__init__(manager, of, self.block.as_pointer())


@infer_getattr
class _Attributes(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:  # type: ignore[override]
        fields = reference.cls._fields
        return reference.members[fields.index(name)] if name in fields else None


@lower_getattr_generic(Reference)
def _lower_getattr(context: Any, builder: Any, reference: Reference, address: Any, name: str) -> Any:
    index = reference.cls._fields.index(name)
    member, place = reference.members[index], cgutils.gep_inbounds(builder, address, 0, index)
    if isinstance(member, Reference):
        return place
    value = context.data_model_manager[member].from_data(builder, builder.load(place))
    return impl_ret_borrowed(context, builder, member, value)


@unbox(Reference)
def _unbox(reference: Reference, value: Any, c: Any) -> NativeValue:
    address = cgutils.alloca_once(c.builder, c.context.data_model_manager[reference].block)
    return NativeValue(address, is_error=_unpack(reference, value, address, c))


def _unpack(reference: Reference, value: Any, address: Any, c: Any) -> Any:
    """Emit code that writes the members of a Python tuple to an address; return whether it failed."""
    failed = cgutils.false_bit
    for index, member in enumerate(reference.members):
        item, place = c.pyapi.tuple_getitem(value, index), cgutils.gep_inbounds(c.builder, address, 0, index)
        if isinstance(member, Reference):
            error = _unpack(member, item, place, c)
        elif isinstance(member, types.Array):
            # As `numba_array_adaptor` of Numba, also for kernels that count references. The memory is borrowed: the
            # caller's tuple outlives the call.
            signature = ir.FunctionType(ir.IntType(32), [c.pyapi.pyobj, c.pyapi.voidptr])
            adapt = cgutils.get_or_insert_function(c.builder.module, signature, "numba_adapt_ndarray")
            code = c.builder.call(adapt, [item, c.builder.bitcast(place, c.pyapi.voidptr)])
            error = cgutils.is_not_null(c.builder, code)
        else:
            native = c.unbox(member, item)
            c.builder.store(c.context.data_model_manager[member].as_data(c.builder, native.value), place)
            error = native.is_error
        failed = c.builder.or_(failed, error)
    return failed


@by_reference
class _Example(NamedTuple):
    values: np.ndarray
    factor: float


def check() -> None:
    """Compile an example of what kernels do; raise where this fails or its result is wrong."""

    def scale(example: Any, i: int) -> Any:
        example.values[i] *= example.factor
        return example.values[i]

    scaled = link(scale, None, False, {"_nrt": False, "forceinline": True})

    def total(example: Any) -> Any:
        result = 0.0
        for i in range(len(example.values)):
            result += scaled(example, i)
        return result

    found = link(total, None, False, {"nogil": True, "_nrt": False})(_Example(np.arange(4.0), 2.0))
    if found != 12.0:
        raise RuntimeError(f"the example gives {found} instead of 12.0")
