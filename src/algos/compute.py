"""The device, the precision and the CPU threads of networks."""

import contextlib
import copy
import re
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from ..core.errors import require
from ..core.ranges import Threads, check_fields
from ..nets.boards import ResidualBlock

torch.set_num_threads(torch.get_num_threads())  # also turns off MKL's dynamic choice of threads
_LOCK = threading.RLock()  # the number of threads is global to the process

Precision = Literal["auto", "bfloat16", "float16", "float32"]
PRECISIONS: dict[Precision, torch.dtype] = {
    "auto": torch.bfloat16,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float32": torch.float32,
}


@dataclass(frozen=True)
class Compute:
    device: str  # auto: the GPU if there is one
    precision: Precision  # of the network; auto and bfloat16: bfloat16 if the hardware supports it natively
    compile: bool  # compile the residual blocks, on a GPU
    threads: Threads | None = None  # of the CPU; None, as in earlier versions: all cores

    def __post_init__(self) -> None:
        check_fields(self)
        known = re.fullmatch(r"auto|cpu|cuda(:\d+)?", self.device) is not None
        require(known, f"compute.device={self.device} must be auto, cpu, cuda or a device such as cuda:1")
        if self.device.startswith("cuda"):
            require(torch.cuda.is_available(), f"compute.device={self.device}, but torch finds no GPU: use auto or cpu")

    @property
    def torch_device(self) -> str:
        return ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device

    @property
    def on_gpu(self) -> bool:
        return self.torch_device.startswith("cuda")

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of autocast; float32 without native support, where a smaller type would be slower."""
        dtype = PRECISIONS[self.precision]
        native = native_bfloat16(self.on_gpu) if dtype == torch.bfloat16 else self.on_gpu
        return dtype if native else torch.float32

    def fixed_threads(self) -> AbstractContextManager[None]:
        """Fix the number of threads, so that results do not depend on the number of cores."""
        return torch_threads(self.threads)

    def prepare(self, net: nn.Module) -> nn.Module:
        net = net.to(self.torch_device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if self.on_gpu:
            torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
            torch.backends.cudnn.benchmark = True
        return net

    def compiled(self, net: nn.Module) -> Any:
        """Return a network with shared weights and compiled blocks, if configured.

        All blocks have the same code, so one compilation serves all: far faster than compiling the whole network.
        """
        if not (self.compile and self.on_gpu):
            return net
        shared = {id(weight): weight for weight in (*net.parameters(), *net.buffers())}
        compiled = copy.deepcopy(net, shared)
        for module in compiled.modules():
            if isinstance(module, ResidualBlock):
                module.compile(dynamic=False)
        return compiled

    def autocast(self) -> AbstractContextManager[Any]:
        if self.dtype == torch.float32:
            return contextlib.nullcontext()
        return torch.autocast(self.torch_device.split(":")[0], self.dtype)

    def scaler(self) -> torch.amp.GradScaler:
        """Return a gradient scaler, enabled for float16 only."""
        return torch.amp.GradScaler(self.torch_device, enabled=self.dtype == torch.float16)


CPU = Compute("cpu", "float32", compile=False)  # for checks before a run


@cache
def native_bfloat16(on_gpu: bool) -> bool:
    """Return whether the hardware supports bfloat16: GPUs since Ampere, CPUs with AMX or AVX-512 BF16."""
    if on_gpu:
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return False
    return bool(flags & {"amx_bf16", "avx512_bf16"})


@contextlib.contextmanager
def torch_threads(count: int | None) -> Iterator[None]:
    """Use `count` CPU threads in the block, then restore the previous number; None changes nothing.

    The number affects the rounding of sums.
    """
    if count is None:
        yield
        return
    with _LOCK:
        before = torch.get_num_threads()
        if before == count:  # fast path: agents call this for every decision
            yield
            return
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(before)
