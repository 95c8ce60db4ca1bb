import numpy as np
import pytest
import torch

from racer.errors import LabelError, NonFiniteError, SettingError, ShapeError, TooFewAnswersError, ZeroEmbeddingError
from racer.simulation import Subtypes, random_subtypes

N_ROLES, N_SUBTYPES, N_FEATURES = 4, 3, 6


def blobs(rng, n_items=600, spread=0.05):
    centers = rng.standard_normal((N_ROLES, N_SUBTYPES, N_FEATURES))
    label, truth = rng.integers(N_ROLES, size=n_items), rng.integers(N_SUBTYPES, size=n_items)
    embedding = centers[label, truth] + spread * rng.standard_normal((n_items, N_FEATURES))
    return embedding, label, truth


def same_partition(one, other):
    return np.array_equal(one[:, None] == one, other[:, None] == other)


def test_well_separated_blobs_are_recovered():
    rng = np.random.default_rng(0)
    embedding, label, truth = blobs(rng)
    subtype = Subtypes.fit(embedding, label, N_ROLES, N_SUBTYPES, rng=rng).assign(embedding, label).numpy()
    for role in range(N_ROLES):
        assert same_partition(subtype[label == role], truth[label == role])


def test_new_cases_join_the_subtype_they_resemble():
    rng = np.random.default_rng(1)
    embedding, label, truth = blobs(rng)
    subtypes = Subtypes.fit(embedding[:300], label[:300], N_ROLES, N_SUBTYPES, rng=rng)
    subtype = subtypes.assign(embedding, label).numpy()
    assert all(same_partition(subtype[label == role], truth[label == role]) for role in range(N_ROLES))


def test_only_centroids_of_the_same_class_count():
    # class 1 has a centroid exactly on the case, class 0 has not
    subtypes = Subtypes(torch.tensor([[[0.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, -1.0]]]))
    assert subtypes.assign([[1.0, 0.0], [1.0, 0.0]], [0, 1]).tolist() == [1, 0]


def test_assign_matches_the_loop_over_items():
    rng = np.random.default_rng(2)
    embedding, label, _ = blobs(rng, n_items=50, spread=1.0)
    centroids = rng.standard_normal((N_ROLES, N_SUBTYPES, N_FEATURES))
    expected = [
        int(np.argmin([np.linalg.norm(row / np.linalg.norm(row) - c) for c in centroids[role]]))
        for row, role in zip(embedding, label, strict=True)
    ]
    assert Subtypes(centroids).assign(embedding, label).tolist() == expected


def test_length_of_an_embedding_does_not_matter():
    rng = np.random.default_rng(3)
    embedding, label, _ = blobs(rng, spread=1.0)
    subtypes = Subtypes.fit(embedding, label, N_ROLES, N_SUBTYPES, rng=rng)
    stretched = embedding * rng.choice([1e-200, 1.0, 1e200], size=(len(embedding), 1))
    assert torch.equal(subtypes.assign(embedding, label), subtypes.assign(stretched, label))


def test_same_generator_same_centroids():
    embedding, label, _ = blobs(np.random.default_rng(4), spread=1.0)
    first, second = (Subtypes.fit(embedding, label, N_ROLES, rng=np.random.default_rng(5)) for _ in range(2))
    assert torch.equal(first.centroids, second.centroids)


def test_a_class_is_clustered_without_looking_at_the_others():
    embedding, label, _ = blobs(np.random.default_rng(6), spread=1.0)
    moved = embedding.copy()
    moved[label == 0] = np.random.default_rng(7).standard_normal(moved[label == 0].shape)
    before, after = (Subtypes.fit(x, label, N_ROLES, rng=np.random.default_rng(8)) for x in (embedding, moved))
    torch.testing.assert_close(before.centroids[1:], after.centroids[1:])
    assert not torch.allclose(before.centroids[0], after.centroids[0])


def test_numpy_and_torch_agree():
    embedding, label, _ = blobs(np.random.default_rng(9))
    embedding.flags.writeable = label.flags.writeable = False
    tensors = torch.tensor(embedding), torch.tensor(label)
    from_numpy = Subtypes.fit(embedding, label, N_ROLES, rng=np.random.default_rng(0))
    from_torch = Subtypes.fit(*tensors, N_ROLES, rng=np.random.default_rng(0))
    assert torch.equal(from_numpy.centroids, from_torch.centroids)
    assert torch.equal(from_numpy.assign(embedding, label), from_torch.assign(*tensors))
    assert from_numpy.centroids.shape == (from_numpy.n_roles, from_numpy.n_subtypes, N_FEATURES)


def test_no_cases_no_subtypes():
    assert Subtypes(torch.eye(2).expand(2, 2, 2)).assign(np.empty((0, 2)), []).shape == (0,)


def test_random_subtypes_ignore_geometry_and_class():
    rng = np.random.default_rng(10)
    label = rng.integers(2, size=30_000)
    subtype = random_subtypes(label, 3, rng).numpy()
    share = np.array([[np.mean(subtype[label == role] == s) for s in range(3)] for role in range(2)])
    assert np.abs(share - 1 / 3).max() < 0.015  # four standard errors
    assert np.mean(subtype[1:] == subtype[:-1]) == pytest.approx(1 / 3, abs=0.012)


@pytest.mark.parametrize(
    ("embedding", "label", "error"),
    [
        ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 0, 1], TooFewAnswersError),
        ([[1.0, 0.0], [0.0, 1.0]], [0, 0], TooFewAnswersError),
        ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]], [0, 0, 1, 1], TooFewAnswersError),
        ([[1.0, 0.0]], [2], LabelError),
        ([[1.0, 0.0]], [-1], LabelError),
        ([[1.0, 0.0]], [0.5], ShapeError),
        ([[1.0, 0.0]], [0, 1], ShapeError),
        ([1.0, 0.0], [0, 1], ShapeError),
        ([[float("nan"), 0.0]], [0], NonFiniteError),
        ([[0.0, 0.0]], [0], ZeroEmbeddingError),
    ],
)
def test_cases_that_cannot_be_clustered_are_refused(embedding, label, error):
    with pytest.raises(error):
        Subtypes.fit(np.array(embedding), np.array(label), n_roles=2, n_subtypes=2, rng=np.random.default_rng(0))


def test_a_short_class_is_named():
    with pytest.raises(TooFewAnswersError, match="Class 1 falls short") as caught:
        Subtypes.fit(np.eye(3), [0, 0, 0], n_roles=2, rng=np.random.default_rng(0))
    assert caught.value.data["roles"] == [1]


def test_other_widths_and_other_classes_are_refused():
    subtypes = Subtypes(torch.eye(2).expand(2, 2, 2))
    with pytest.raises(ShapeError):
        subtypes.assign(np.ones((1, 3)), [0])
    with pytest.raises(LabelError):
        subtypes.assign(np.ones((1, 2)), [2])
    with pytest.raises(ShapeError):
        Subtypes(torch.eye(2))
    with pytest.raises(SettingError):
        random_subtypes([0], 0, np.random.default_rng(0))
