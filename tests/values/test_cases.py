"""Cases: what comes in, what is refused, and the state of each candidate role."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import role_state as reference
from refusal import refused

from racer import Cases
from racer.errors import NonFiniteError, PosteriorError, ShapeError, TooFewRolesError, ZeroEmbeddingError

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}
EMBEDDING = [[3.0, 4.0], [0.0, 2.0], [1.0, 0.0]]
POSTERIOR = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.5, 0.25]]


@pytest.fixture
def cases():
    return Cases(EMBEDDING, POSTERIOR)


@st.composite
def posteriors(draw):
    """Small whole weights, so that classes often tie and often have no mass."""
    k = draw(st.sampled_from([2, 3, 100]))
    weight = st.lists(st.integers(0, 3), min_size=k, max_size=k).filter(any)
    rows = torch.tensor(draw(st.lists(weight, min_size=1, max_size=4)), dtype=draw(st.sampled_from(list(TOLERANCE))))
    return rows / rows.sum(-1, keepdim=True)


# role state


@given(posteriors())
def test_the_role_state_is_the_one_written_down(p):
    state = Cases(torch.ones(len(p), 1, dtype=p.dtype), p).role_state
    for i, row in enumerate(p.tolist()):
        assert state.rank[i].tolist() == [reference.rank(row, y) for y in range(len(row))]
        margin = [reference.margin(row, y) for y in range(len(row))]
        assert state.margin[i].tolist() == pytest.approx(margin, abs=TOLERANCE[p.dtype])
        assert float(state.entropy[i]) == pytest.approx(reference.entropy(row), abs=TOLERANCE[p.dtype])
    assert torch.equal(state.posterior, p)
    assert {state.rank.dtype, state.margin.dtype, state.entropy.dtype} == {p.dtype}


@given(posteriors(), st.randoms())
def test_renaming_the_classes_only_moves_entries(p, random):
    moved = random.sample(range(p.shape[1]), p.shape[1])
    one, other = Cases(torch.ones(len(p), 1), p).role_state, Cases(torch.ones(len(p), 1), p[:, moved]).role_state
    assert torch.equal(one.rank[:, moved], other.rank)
    assert torch.equal(one.margin[:, moved], other.margin)


def test_tied_classes_share_the_better_rank_and_a_margin_of_zero():
    state = Cases([[1.0]], [[0.4, 0.4, 0.2]]).role_state
    assert state.rank.tolist() == [[1, 1, 3]]
    assert state.margin[0].tolist() == pytest.approx([0, 0, -0.2])


def test_a_certain_posterior_has_no_entropy_and_a_flat_one_log_k():
    state = Cases([[1.0]] * 2, [[1.0, 0.0, 0.0, 0.0], [0.25] * 4]).role_state
    assert state.entropy.tolist() == pytest.approx([0, np.log(4)])
    assert state.rank.tolist() == [[1, 2, 2, 2], [1, 1, 1, 1]]
    assert state.margin.tolist() == [[1, -1, -1, -1], [0, 0, 0, 0]]


def test_the_gradient_of_the_entropy_is_finite_where_a_class_has_no_mass():
    p = torch.tensor([[1.0, 0.0], [0.5, 0.5]], requires_grad=True)
    Cases(torch.ones(2, 1), p).role_state.entropy.sum().backward()
    assert p.grad.isfinite().all()
    assert p.grad[1].tolist() == pytest.approx([np.log(2) - 1] * 2)


def test_the_model_says_its_largest_posterior(cases):
    assert cases.prediction.tolist() == [0, 1, 1]
    assert cases.confidence.tolist() == pytest.approx([0.7, 0.8, 0.5])


# direction


def test_directions_have_length_one(cases):
    assert cases.direction[0].tolist() == pytest.approx([0.6, 0.8])
    assert cases.direction[1:].tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("scale", [1e-45, 1e-38, 1e-30, 1.0, 1e30, 8e37])
def test_tiny_and_huge_rows_have_a_direction(scale, dtype):
    row = torch.tensor([[3.0, 4.0]], dtype=dtype) * scale
    direction = Cases(row, torch.tensor([[0.5, 0.5]], dtype=dtype)).direction
    assert float(direction.norm()) == pytest.approx(1, abs=1e-6)
    if scale > 1e-40:  # below, float32 itself no longer holds 3 : 4
        assert direction[0].tolist() == pytest.approx([0.6, 0.8], abs=1e-5)


# what comes in


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, np.longdouble, ">f4", ">f8", int, "u2", "u8", object]
)
def test_any_kind_of_number_is_read(dtype):
    given = np.array(EMBEDDING).astype(dtype)
    read = Cases(given, POSTERIOR)
    assert read.embedding.tolist() == EMBEDDING
    is_wide = given.dtype == object or (given.dtype.kind == "f" and given.dtype.itemsize >= 8)
    assert read.dtype == (torch.float64 if is_wide else torch.float32)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


LAYOUTS = {
    "read only": read_only,
    "transposed": lambda a: np.asfortranarray(a),
    "every other column": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "broadcast": lambda a: np.broadcast_to(a, a.shape),
    "nested lists": lambda a: a.tolist(),
    "rows of arrays": list,
    "rows of tensors": lambda a: list(torch.tensor(a)),
    "data frame": pd.DataFrame,
    "tensor": torch.tensor,
    "transposed tensor": lambda a: torch.tensor(a.T).T,
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_any_holder_of_numbers_is_read(layout, cases):
    read = Cases(layout(np.array(EMBEDDING)), layout(np.array(POSTERIOR)))
    assert read.embedding.tolist() == EMBEDDING
    assert torch.equal(read.role_state.rank, cases.role_state.rank)
    assert read.direction[0].tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_embeddings_are_widened(dtype):
    assert Cases(torch.tensor(EMBEDDING, dtype=dtype), POSTERIOR).dtype == torch.float32


def test_a_half_precision_softmax_is_taken():
    rng = np.random.default_rng(0)
    logits = torch.tensor(rng.normal(size=(200, 10)) * 3)
    assert len(Cases(np.ones((200, 1)), logits.softmax(-1).half())) == 200


def test_the_wider_type_wins():
    assert Cases(np.float32(EMBEDDING), np.float64(POSTERIOR)).dtype == torch.float64


def test_memory_is_shared_where_it_can_be():
    embedding = np.float32(EMBEDDING)
    assert Cases(embedding, np.float32(POSTERIOR)).embedding.data_ptr() == embedding.ctypes.data


def test_gradients_reach_the_encoder():
    embedding = torch.tensor(EMBEDDING, requires_grad=True)
    cases = Cases(embedding, POSTERIOR)
    cases.direction[:, 0].sum().backward()
    # d(x / |x|)/dx at (3, 4) is 16/125
    assert float(embedding.grad[0, 0]) == pytest.approx(16 / 125)


def test_no_cases_are_cases():
    none = Cases(np.empty((0, 4)), np.empty((0, 3)))
    assert (len(none), none.n_features, none.n_roles) == (0, 4, 3)
    assert none.direction.shape == (0, 4)
    assert none.role_state.rank.shape == (0, 3) and none.role_state.entropy.shape == (0,)
    assert len(Cases.empty(4, 3, torch.float64)) == 0 and Cases.empty(4, 3, torch.float64).dtype == torch.float64


# some of them


SOME = {
    "index": (1, [1]),
    "last": (-1, [2]),
    "numpy index": (np.int64(1), [1]),
    "tensor index": (torch.tensor(1), [1]),
    "slice": (slice(1, None), [1, 2]),
    "backwards": (slice(None, None, -1), [2, 1, 0]),
    "every other": (slice(None, None, 2), [0, 2]),
    "mask": ([True, False, True], [0, 2]),
    "numpy mask": (np.array([True, False, True]), [0, 2]),
    "indices": ([2, 0, 2], [2, 0, 2]),
    "small indices": (np.array([2, 1, 1], dtype=np.uint8), [2, 1, 1]),
    "read-only indices": (read_only(np.array([2, 0])), [2, 0]),
    "nothing": ([], []),
    "no slice": (slice(0, 0), []),
}


@pytest.mark.parametrize(("rows", "expected"), SOME.values(), ids=SOME)
def test_rows_are_picked(rows, expected, cases):
    some = cases[rows]
    assert some.embedding.tolist() == [EMBEDDING[i] for i in expected]
    assert some.posterior.shape == (len(expected), 3)
    assert some.direction.tolist() == cases.direction[expected].tolist()


def test_a_slice_keeps_the_directions_already_known(cases):
    whole = cases.direction
    assert cases[1:].direction.data_ptr() == whole[1:].data_ptr()


@pytest.mark.parametrize("row", [3, -4])
def test_a_row_that_is_not_there_is_an_error(row, cases):
    with pytest.raises(IndexError, match=f"{row} of 3"):
        cases[row]


def test_a_loop_over_cases_ends(cases):
    assert [one.embedding.tolist() for one in cases] == [[row] for row in EMBEDDING]


@pytest.mark.parametrize("rows", [[[0]], [0.5], [1.0]])
def test_rows_that_pick_nothing_sensible_are_refused(rows, cases):
    with refused(ShapeError, "integers or booleans"):
        cases[rows]


def test_parts_are_put_end_to_end(cases):
    whole = Cases.concatenate([cases[:1], cases[1:]])
    assert torch.equal(whole.embedding, cases.embedding) and torch.equal(whole.posterior, cases.posterior)
    assert Cases.concatenate([cases]) is cases


def test_parts_of_other_classifiers_are_refused(cases):
    with refused(ShapeError, "2 features and 3 roles", "3 features"):
        Cases.concatenate([cases, Cases(np.ones((1, 3)), [[0.5, 0.25, 0.25]])])
    with refused(ShapeError, "torch.float32", "torch.float64"):
        Cases.concatenate([cases, Cases(np.ones((1, 2)), [[0.5, 0.25, 0.25]])])
    with refused(ShapeError, "Cases.empty"):
        Cases.concatenate([])


def test_cases_travel_between_processes(cases):
    back = pickle.loads(pickle.dumps(cases))
    assert torch.equal(back.embedding, cases.embedding) and torch.equal(back.posterior, cases.posterior)


def test_the_repr_says_how_many_and_shows_no_numbers(cases):
    assert repr(cases) == "Cases(3 cases, 2 features, 3 roles)"


# what is refused


def changed(row, column, value, base):
    array = np.array(base)
    array[row, column] = value
    return array


BAD = {
    "NaN in the embedding": (changed(1, 0, np.nan, EMBEDDING), POSTERIOR, NonFiniteError, "Row 1 has nan; 1 of 3"),
    "infinite embedding": (changed(2, 1, -np.inf, EMBEDDING), POSTERIOR, NonFiniteError, "Row 2 has -inf"),
    "zero embedding": (changed(1, 1, 0.0, EMBEDDING), POSTERIOR, ZeroEmbeddingError, "Row 1 is all zeros"),
    "NaN in the posterior": (EMBEDDING, changed(0, 0, np.nan, POSTERIOR), NonFiniteError, "Row 0 is [nan"),
    "log-probabilities": (EMBEDDING, changed(0, 0, -np.inf, POSTERIOR), NonFiniteError, "softmax"),
    "sum below one": (EMBEDDING, changed(1, 1, 0.7, POSTERIOR), PosteriorError, "Row 1 sums to 0.9"),
    "sum above one": (EMBEDDING, changed(0, 0, 0.702, POSTERIOR), PosteriorError, "Row 0 sums to 1.002"),
    "logits": (EMBEDDING, [[2.0, -1.0, 0.0]] * 3, PosteriorError, "holds -1; 3 of 3 rows"),
    "logits that sum to one": (EMBEDDING, [[2.0, -1.0, 0.0]] * 3, PosteriorError, "softmax"),
    "one class": (EMBEDDING, [[1.0]] * 3, TooFewRolesError, "1 − p"),
    "no class": (EMBEDDING, np.empty((3, 0)), TooFewRolesError, "Got 0"),
    "no features": (np.empty((3, 0)), POSTERIOR, ShapeError, "(3, 0)"),
    "other lengths": (EMBEDDING[:2], POSTERIOR, ShapeError, "(2, 2) and (3, 3)"),
    "one embedding for all": (EMBEDDING[0], POSTERIOR, ShapeError, "(2,)"),
    "three axes": ([EMBEDDING], POSTERIOR, ShapeError, "(1, 3, 2)"),
    "a number": (1.0, POSTERIOR, ShapeError, "()"),
    "ragged": ([[1.0, 2.0], [1.0], [1.0]], POSTERIOR, ShapeError, "as many in each row"),
    "ragged tensors": ([torch.ones(2), torch.ones(1)], POSTERIOR, ShapeError, "as many in each row"),
    "ragged arrays": ([np.ones(2), np.ones(1)], POSTERIOR, ShapeError, "as many in each row"),
    "text": ([["a", "b"]], POSTERIOR, ShapeError, "numbers only"),
    "nothing": (None, POSTERIOR, ShapeError, "numbers only"),
    "a gap": ([[1.0, None]], POSTERIOR, ShapeError, "numbers only"),
    "complex": (np.array(EMBEDDING) * 1j, POSTERIOR, ShapeError, "complex128"),
    "masked": (np.ma.masked_equal(EMBEDDING, 2.0), POSTERIOR, ShapeError, "fill it first"),
}


@pytest.mark.parametrize(("embedding", "posterior", "error", "said"), BAD.values(), ids=BAD)
def test_bad_values_are_refused_by_name(embedding, posterior, error, said):
    with refused(error, said):
        Cases(embedding, posterior)


def test_the_bad_rows_are_kept_for_programs():
    with refused(ZeroEmbeddingError) as caught:
        Cases([[0.0], [1.0], [0.0]], [[0.5, 0.5]] * 3)
    assert caught.value.data == {"rows": [0, 2]}


@given(st.floats(-2e-3, 2e-3).filter(lambda x: abs(abs(x) - 1e-3) > 1e-6))
def test_a_posterior_may_miss_one_by_a_thousandth(excess):
    p = np.array([[0.5, 0.5 + excess]])
    if abs(excess) < 1e-3:
        assert len(Cases(np.ones((1, 1)), p)) == 1
    else:
        with refused(PosteriorError, "divide each row by its sum"):
            Cases(np.ones((1, 1)), p)


def test_a_classifier_and_a_feature_function_are_cases():
    class Halves:
        def predict_proba(self, inputs):
            return np.full((len(inputs), 2), 0.5)

    inputs = np.arange(6.0).reshape(3, 2) + 1
    assert Cases.from_classifier(Halves(), inputs).embedding.tolist() == inputs.tolist()
    assert Cases.from_classifier(Halves(), inputs, features=lambda rows: rows[:, :1]).n_features == 1
    with pytest.raises(ShapeError, match="predict_proba"):
        Cases.from_classifier(len, inputs)
