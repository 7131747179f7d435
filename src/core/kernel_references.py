"""Named tuples that kernels take by reference.

Numba passes a tuple of arrays by value: seven words for each array, in every call. With thirty arrays, most of the code
to compile copies them, and so does most of the code that runs where a call is not inlined. A named tuple declared with
`by_reference` is unpacked into one block of memory where Python calls a kernel; kernels pass on its address.

Kernels read such tuples and call each other with them. They cannot create, return or unpack them.
"""

import hashlib
from typing import Any, TypeVar

import numba  # noqa: F401 (waits until a thread that imports it is done, which `numba.core` alone does not)
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.core.typing.typeof import typeof as numba_typeof
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, register_model, typeof_impl, unbox

Class = TypeVar("Class", bound=type)


def by_reference(cls: Class) -> Class:
    """Decorate a `NamedTuple` of arrays, numbers and other such tuples."""

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

    @property
    def key(self) -> Any:
        return self.cls, self.members


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
    block = c.context.data_model_manager[reference].block
    address = cgutils.alloca_once(c.builder, block)
    return NativeValue(address, is_error=_unpack(reference, value, address, c))


def _unpack(reference: Reference, value: Any, address: Any, c: Any) -> Any:
    """Emit code that writes the members of a Python tuple to an address; return whether it failed."""
    failed = cgutils.false_bit
    for index, member in enumerate(reference.members):
        item, place = c.pyapi.tuple_getitem(value, index), cgutils.gep_inbounds(c.builder, address, 0, index)
        if isinstance(member, Reference):
            error = _unpack(member, item, place, c)
        elif isinstance(member, types.Array):  # borrowed: the caller's tuple outlives the call
            error = _write_array(item, place, c)
        else:
            native = c.unbox(member, item)
            c.builder.store(c.context.data_model_manager[member].as_data(c.builder, native.value), place)
            error = native.is_error
        failed = c.builder.or_(failed, error)
    return failed


def _write_array(array: Any, place: Any, c: Any) -> Any:
    """As `numba_array_adaptor` of Numba, also for kernels that count references."""
    signature = ir.FunctionType(ir.IntType(32), [c.pyapi.pyobj, c.pyapi.voidptr])
    function = cgutils.get_or_insert_function(c.builder.module, signature, "numba_adapt_ndarray")
    code = c.builder.call(function, [array, c.builder.bitcast(place, c.pyapi.voidptr)])
    return cgutils.is_not_null(c.builder, code)


def declare_read_only(function: Any) -> None:
    """Tell LLVM that nothing in a function writes to the blocks that it is given, so that it reads them once."""
    for argument in function.args[2:]:  # after the places of the result and of an exception
        if isinstance(argument.type, ir.PointerType) and isinstance(argument.type.pointee, ir.LiteralStructType):
            for attribute in ("noalias", "captures(none)"):
                argument.add_attribute(attribute)
