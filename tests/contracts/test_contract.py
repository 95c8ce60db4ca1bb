"""Every method in the package keeps every promise of the contract; nothing here lists them."""

import functools

import pytest
import sklearn.base
from discovery import concrete_methods

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


def test_the_registry_holds_every_method_under_its_name():
    assert {method.name: method for method in concrete_methods()} == dict(REGISTRY)


@pytest.mark.parametrize("method", concrete_methods(), ids=lambda method: method.name)
def test_scikit_learn_clones_it_without_what_it_learned(method):
    copy = sklearn.base.clone(fitted(method))
    assert type(copy) is method and copy == method() and repr(copy) == repr(method())
    assert copy.get_params() == method().get_params() and "state" not in copy.get_params()


def test_check_method_runs_all_of_it():
    check_method(REGISTRY["ifd-score"]())
