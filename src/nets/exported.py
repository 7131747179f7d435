"""A network with plain outputs, for export to other runtimes."""

from torch import Tensor, nn

from .symmetry import averaged


class ExportedNetwork(nn.Module):
    """Return (policy, value), or (policy, value, aux) with `aux`; `symmetries` averages them over mirror images."""

    def __init__(self, net: nn.Module, *, symmetries: bool, aux: bool) -> None:
        super().__init__()
        self.net, self.symmetries, self.aux = net, symmetries, aux

    def forward(self, observation: Tensor) -> tuple[Tensor, ...]:
        heads = averaged(self.net, observation) if self.symmetries else self.net(observation)
        return tuple(heads) if self.aux else (heads.policy, heads.value)
