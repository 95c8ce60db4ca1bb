"""Every method in the package keeps every promise of the contract; nothing here lists them."""

import functools

import pytest
import sklearn.base
import torch
from discovery import concrete_methods

from racer import RacerKNN
from racer.checks import CHECKS, check_method, make_world
from racer.checks.state import fit_in
from racer.methods import REGISTRY


@functools.cache
def world():
    return make_world()


@functools.cache
def fitted(method):
    return fit_in(method(), world())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("method", concrete_methods(), ids=lambda method: method.name)
def test_method_keeps_its_promise(method, check):
    check(fitted(method), world())


@pytest.mark.parametrize("method", concrete_methods(), ids=lambda method: method.name)
def test_scored_is_both_answers_at_once(method):
    asked, panel = fitted(method), world().strangers
    both = asked.scored(world().queries, panel)
    torch.testing.assert_close(both.score, asked.deferral_score(world().queries, panel), rtol=0, atol=1e-6)
    q = asked.expert_correctness(world().queries, panel)
    assert (both.p_right is None) == (q is None)
    if q is not None:
        torch.testing.assert_close(both.p_right, q, rtol=0, atol=1e-6)


def test_a_score_of_ones_own_is_kept():
    class Contrary(RacerKNN):
        def deferral_score(self, queries, evidence, *, negligible=0.0):
            return -self.expert_correctness(queries, evidence)

    both = Contrary().scored(world().queries, world().strangers)
    assert torch.equal(both.score, -both.p_right)


def test_the_registry_holds_every_method_under_its_name():
    assert {method.name: method for method in concrete_methods()} == dict(REGISTRY)


@pytest.mark.parametrize("method", concrete_methods(), ids=lambda method: method.name)
def test_scikit_learn_clones_it_without_what_it_learned(method):
    copy = sklearn.base.clone(fitted(method))
    assert type(copy) is method and copy == method() and repr(copy) == repr(method())
    assert copy.get_params() == method().get_params() and "state" not in copy.get_params()


def test_check_method_runs_all_of_it():
    check_method(REGISTRY["ifd-score"]())
