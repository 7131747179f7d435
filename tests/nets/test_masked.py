import math

import pytest
import torch

from src.core.errors import UserError
from src.nets.masked import MaskedCategorical, require_legal


def test_probabilities_and_entropy_by_hand():
    """Logits ln 1, ln 3 and a forbidden ln 100: a quarter, three quarters, nothing."""
    logits = torch.tensor([[0.0, math.log(3), math.log(100)]], requires_grad=True)
    policy = MaskedCategorical(logits, torch.tensor([[True, True, False]]))
    assert policy.probs[0].tolist() == pytest.approx([0.25, 0.75, 0.0])
    assert policy.entropy().item() == pytest.approx(-(0.25 * math.log(0.25) + 0.75 * math.log(0.75)))
    assert policy.log_prob(torch.tensor([1])).item() == pytest.approx(math.log(0.75))
    (policy.entropy().sum() + policy.log_prob(torch.tensor([0])).sum()).backward()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[0, 2] == 0


def test_one_legal_action_is_certain_and_has_no_entropy():
    policy = MaskedCategorical(torch.tensor([[5.0, -5.0]]), torch.tensor([[False, True]]))
    assert policy.probs.tolist() == [[0.0, 1.0]]
    assert policy.entropy().item() == 0


def test_samples_are_legal_and_as_likely_as_they_should_be():
    logits = torch.tensor([math.log(1), math.log(3), 50.0, math.log(6)]).repeat(20_000, 1)
    mask = torch.tensor([True, True, False, True]).repeat(20_000, 1)
    drawn = MaskedCategorical(logits, mask).sample(torch.Generator().manual_seed(0))
    shares = torch.bincount(drawn, minlength=4) / len(drawn)
    assert shares[2] == 0
    assert shares.tolist() == pytest.approx([0.1, 0.3, 0.0, 0.6], abs=0.015)


def test_a_row_without_a_legal_action_is_refused():
    mask = torch.ones(2, 3, 4, dtype=torch.bool)
    require_legal(mask, "rollout")
    mask[1, 2] = False
    with pytest.raises(UserError, match="rollout: no action is legal in row 5"):
        require_legal(mask, "rollout")
