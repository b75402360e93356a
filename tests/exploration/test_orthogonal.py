"""Random blocks: orthogonal, on a random partition, as long as X allows."""

import numpy as np
import pytest

import sparsebandits as sb
from sparsebandits.exploration import BlockBasis, make_basis
from sparsebandits.exploration.orthogonal import largest_scales
from tests.exploration.examples import ONE_SIDED_SETS, SYMMETRIC_SETS

RANDOM = ["block-gaussian", "block-uniform"]


@pytest.mark.parametrize("name", RANDOM)
def test_unit_blocks_inside_the_unit_ball_are_orthogonal(name: str) -> None:
    basis = make_basis(name, sb.LpBall(11), 4, rng=3)
    np.testing.assert_allclose(basis.gram, np.eye(11), atol=1e-12)
    sizes = sorted(len(set(basis.support(k))) for k in range(11))
    assert sizes == [3] * 3 + [4] * 8


@pytest.mark.parametrize("name", RANDOM)
@pytest.mark.parametrize("kind", SYMMETRIC_SETS)
def test_rows_are_as_long_as_the_set_allows_and_at_most_one(name: str, kind: str) -> None:
    action_set = SYMMETRIC_SETS[kind]
    rows = make_basis(name, action_set, 3, rng=1).actions
    lengths = np.linalg.norm(rows, axis=1)
    assert (lengths <= 1 + 1e-12).all()
    short = lengths < 1 - 1e-9
    assert not action_set.contains(rows[short] * 1.0001).any()
    # Neither would the opposite direction have been longer.
    assert not action_set.contains(-rows[short] * 1.0001).any()


def test_the_draw_depends_on_the_seed_alone() -> None:
    ball = sb.LpBall(6)
    first = make_basis("block-gaussian", ball, 2, rng=7)
    assert first == make_basis("block-gaussian", ball, 2, rng=np.random.default_rng(7))
    assert first != make_basis("block-gaussian", ball, 2, rng=8)
    np.testing.assert_raises(
        AssertionError,
        np.testing.assert_allclose,
        first.actions,
        make_basis("block-uniform", ball, 2, rng=7).actions,
    )


def test_the_partition_is_random() -> None:
    companions = {
        int(make_basis("block-uniform", sb.LpBall(6), 2, rng=seed).support(0)[1])
        for seed in range(60)
    }
    # Each of the five is missing with probability 0.8^60 < 2e-6.
    assert companions == {1, 2, 3, 4, 5}


def test_gaussian_blocks_are_haar() -> None:
    # For a Haar rotation of the plane E[Q_11] = 0 and E[Q_11^2] = 1/2; QR without the sign fix has
    # Q_11 <= 0 always. 2,000 draws: five standard errors are 0.08 and 0.04.
    basis = make_basis("block-gaussian", sb.LpBall(4000), 2, rng=0)
    assert isinstance(basis, BlockBasis)
    corner = np.array([rows[0, 0] for _, rows in basis.blocks])
    assert corner.size == 2000
    assert abs(corner.mean()) < 0.08
    assert abs((corner**2).mean() - 0.5) < 0.04


@pytest.mark.parametrize("name", RANDOM)
@pytest.mark.parametrize("kind", ONE_SIDED_SETS)
def test_sets_without_negative_actions_are_refused(name: str, kind: str) -> None:
    with pytest.raises(sb.CompositionError, match="Use basis='designed', 'boundary'"):
        make_basis(name, ONE_SIDED_SETS[kind], 3, rng=0)


@pytest.mark.parametrize("kind", ONE_SIDED_SETS)
def test_blocks_of_one_turn_the_way_that_is_inside(kind: str) -> None:
    rows = make_basis("block-gaussian", ONE_SIDED_SETS[kind], 1, rng=0).actions
    assert (rows >= 0).all()


@pytest.mark.parametrize("name", RANDOM)
def test_a_generator_is_needed(name: str) -> None:
    with pytest.raises(sb.InvalidTypeError, match="is random and needs rng"):
        make_basis(name, sb.LpBall(3), 2)


def test_largest_scales() -> None:
    box = sb.Box([-1, 0], [0.25, 2.0])
    rows = np.array([[1.0, 0.0], [-1.0, 1.0], [1.0, 1.0], [0.0, -1.0], [3.0, 100.0], [0.2, 0.2]])
    np.testing.assert_allclose(
        largest_scales(box, rows), [0.25, 1.0, 0.25, 0.0, 0.02, 1.0], rtol=1e-9
    )
