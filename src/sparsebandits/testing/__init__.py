"""The contracts of action sets and policies, for people who write their own.

Examples
--------
>>> import sparsebandits as sb
>>> sb.testing.check_action_set(sb.LpBall(dim=4))  # silence is consent
"""

from sparsebandits.testing.action_sets import check_action_set
from sparsebandits.testing.contract import ContractError
from sparsebandits.testing.policies import check_policy

__all__ = ["ContractError", "check_action_set", "check_policy"]
