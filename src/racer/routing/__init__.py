"""Who answers: competence, costs and limits become a decision."""

from racer.routing.capacity import Capacity as Capacity
from racer.routing.cost import Cost as Cost
from racer.routing.decision import Decision as Decision
from racer.routing.decision import Witnesses as Witnesses
from racer.routing.evidence import Evidence as Evidence
from racer.routing.origin import Origin as Origin
from racer.routing.plan import MODEL as MODEL
from racer.routing.plan import Plan as Plan
from racer.routing.policy import AbstractPolicy as AbstractPolicy
from racer.routing.policy import Budget as Budget
from racer.routing.policy import Threshold as Threshold
from racer.routing.router import Router as Router
from racer.routing.solve import solve as solve
from racer.routing.target_accuracy import TargetAccuracy as TargetAccuracy

__all__ = [
    "MODEL",
    "AbstractPolicy",
    "Budget",
    "Capacity",
    "Cost",
    "Decision",
    "Evidence",
    "Origin",
    "Plan",
    "Router",
    "TargetAccuracy",
    "Threshold",
    "Witnesses",
    "solve",
]
