"""The designed basis: known answers, bounds, and never worse than the boundary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsebandits as sb
from sparsebandits.exploration import BlockBasis, DiagonalBasis, make_basis
from tests.exploration.examples import ALL_SETS, CONVEX_SETS, ellipsoid, polytope


def inverse_trace(name: str, action_set: sb.ActionSet, sparsity: int) -> float:
    return make_basis(name, action_set, sparsity).inverse_trace


@pytest.mark.parametrize(("sparsity", "gain"), [(1, 1), (2, 2), (4, 4), (8, 8), (12, 12)])
def test_the_cube_is_weighed_by_hadamard_matrices(sparsity: int, gain: int) -> None:
    for cube in (sb.LpBall(24, p=np.inf), sb.Box(-np.ones(24), np.ones(24))):
        assert inverse_trace("designed", cube, sparsity) == pytest.approx(24 / gain)


@pytest.mark.parametrize("sparsity", [3, 7, 11])
def test_the_unit_box_is_weighed_by_s_matrices(sparsity: int) -> None:
    box = sb.Box(np.zeros(2 * sparsity), np.ones(2 * sparsity))
    expected = 2 * 4 * sparsity**2 / (sparsity + 1) ** 2
    assert inverse_trace("designed", box, sparsity) <= expected * (1 + 1e-9)
    if sparsity == 3:
        assert inverse_trace("designed", box, sparsity) == pytest.approx(0.75 * 6)
        # The mirror image [-1, 0]^d is no harder.
        mirror = sb.Box(-np.ones(6), np.zeros(6))
        assert inverse_trace("designed", mirror, sparsity) == pytest.approx(0.75 * 6)


def test_blocks_are_evened_out_where_that_is_better() -> None:
    # Three blocks of 7 and a rest of 3 weigh worse than four blocks of 6.
    cube = sb.LpBall(24, p=np.inf)
    assert inverse_trace("designed", cube, 7) <= inverse_trace("designed", cube, 6) * (1 + 1e-9)


def test_scaled_boxes_scale_the_answer() -> None:
    sides = np.array([0.5, 2.0, 1.0, 4.0])
    assert inverse_trace("designed", sb.Box(-sides, sides), 4) == pytest.approx(
        (sides**-2).sum() / 4
    )


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_balls_with_p_at_most_2_keep_the_boundary(p: float) -> None:
    ball = sb.LpBall(9, p=p, radius=2.0)
    basis = make_basis("designed", ball, 4)
    assert isinstance(basis, DiagonalBasis)
    np.testing.assert_array_equal(basis.scales, np.full(9, 2.0))
    assert basis.name == "designed"


def test_a_ball_with_p_above_2_gains_the_power_of_the_block_size() -> None:
    # Hadamard rows scaled to the sphere: B = k^(1 - 2/p) I.
    assert inverse_trace("designed", sb.LpBall(8, p=3.0), 4) <= 8 * 4 ** (2 / 3 - 1) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_ellipsoids_come_close_to_the_best_on_their_blocks(seed: int) -> None:
    # With x = A^(-1/2) y on a block, unit y and G = sum y y' of trace k, tr(B^-1) =
    # tr(A G^-1), which is at least (tr A^(1/2))^2 / k, for G proportional to A^(1/2).
    for action_set in (ellipsoid(12, seed), sb.Ellipsoid(np.diag(np.logspace(-1, 1, 12)))):
        basis = make_basis("designed", action_set, 4)
        assert isinstance(basis, BlockBasis)
        bound = 0.0
        for block, _ in basis.blocks:
            eigenvalues = np.linalg.eigvalsh(action_set.matrix[np.ix_(block, block)])
            bound += np.sqrt(eigenvalues).sum() ** 2 / block.size
        assert bound * (1 - 1e-9) <= basis.inverse_trace <= bound * 1.001
        assert basis.inverse_trace < 0.99 * inverse_trace("boundary", action_set, 4)


@pytest.mark.each_value
@pytest.mark.parametrize("kind", ALL_SETS)
@pytest.mark.parametrize("sparsity", [1, 2, 3, 5, 7])
def test_never_worse_than_the_boundary(kind: str, sparsity: int) -> None:
    action_set = ALL_SETS[kind]
    boundary = inverse_trace("boundary", action_set, sparsity)
    assert inverse_trace("designed", action_set, sparsity) <= boundary * (1 + 1e-9)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from(["lp", "box", "budget", "ellipsoid", "polytope"]),
    dim=st.integers(1, 6),
    seed=st.integers(0, 10**6),
    data=st.data(),
)
def test_never_worse_than_the_boundary_on_random_sets(
    kind: str, dim: int, seed: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    action_set: sb.ActionSet
    if kind == "lp":
        action_set = sb.LpBall(dim, p=rng.uniform(1, 6), radius=10 ** rng.uniform(-3, 3))
    elif kind == "box":
        action_set = sb.Box(-(10 ** rng.uniform(-3, 3, dim)), 10 ** rng.uniform(-3, 3, dim))
    elif kind == "budget":
        action_set = sb.Budget(rng.uniform(0.1, 3), 10 ** rng.uniform(-2, 1, dim))
    else:
        action_set = ellipsoid(dim, seed) if kind == "ellipsoid" else polytope(dim, seed)
    sparsity = data.draw(st.integers(1, dim))
    designed = make_basis("designed", action_set, sparsity)
    boundary = make_basis("boundary", action_set, sparsity)
    assert designed.inverse_trace <= boundary.inverse_trace * (1 + 1e-9)
    assert designed.sparsity <= sparsity


@pytest.mark.parametrize("kind", CONVEX_SETS)
def test_the_design_is_deterministic(kind: str) -> None:
    action_set = CONVEX_SETS[kind]
    assert make_basis("designed", action_set, 3) == make_basis("designed", action_set, 3, rng=5)


def test_every_block_gets_a_share_of_unlike_coordinates() -> None:
    # Two long axes, then two short ones: pairs of unlike axes gain, pairs of like ones do not.
    action_set = sb.Ellipsoid(np.diag([1.0, 1.0, 100.0, 100.0]))
    assert inverse_trace("designed", action_set, 2) == pytest.approx(2 * 11**2 / 2, rel=1e-3)


def test_a_tiny_coordinate_does_not_spoil_its_block() -> None:
    sides = np.array([1e-18, 1.0, 1.0, 1.0])
    basis = make_basis("designed", sb.Box(-sides, sides), 2)
    assert basis.action(0)[0] == 1e-18
    assert basis.coordinate_variance[2] == pytest.approx(0.5)


def test_coordinates_that_move_only_together_can_still_be_explored() -> None:
    # The cone x_0 / 2 <= x_1 <= 2 x_0, cut at x_0 + x_1 <= 3: nothing but 0 lies on an axis.
    wedge = sb.Polytope([[-2, 1], [1, -2], [1, 1]], [0, 0, 3])
    with pytest.raises(sb.CompositionError, match="basis='designed' with sparsity >= 2"):
        make_basis("boundary", wedge, 2)
    basis = make_basis("designed", wedge, 2)
    # The rows (1, 2) and (2, 1), the two far corners, are best.
    assert basis.inverse_trace == pytest.approx(10 / 9)


@pytest.mark.parametrize("sparsity", [1, 2])
def test_a_set_without_a_basis_is_refused(sparsity: int) -> None:
    stuck = sb.Box([-1, 0, -1], [1, 0, 1])
    with pytest.raises(sb.CompositionError, match=r"that span were found.*coordinates 1, nor"):
        make_basis("designed", stuck, sparsity)
