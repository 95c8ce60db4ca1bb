"""Who should answer this case: the model, or which expert?

Names are looked up when first used, so that importing racer costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from racer.version import VERSION

if TYPE_CHECKING:
    import racer.checks as checks
    import racer.competence as competence
    import racer.errors as errors
    import racer.evaluation as evaluation
    import racer.files as files
    import racer.learning as learning
    import racer.methods as methods
    import racer.metrics as metrics
    import racer.pooling as pooling
    import racer.report as report
    import racer.routing as routing
    import racer.simulation as simulation
    from racer.cases import Cases as Cases
    from racer.competence import IFDMLP as IFDMLP
    from racer.competence import ClassGated as ClassGated
    from racer.competence import ClassifierConfidence as ClassifierConfidence
    from racer.competence import GlobalAccuracy as GlobalAccuracy
    from racer.competence import IFDScore as IFDScore
    from racer.competence import RacerDeepSets as RacerDeepSets
    from racer.competence import RacerKernel as RacerKernel
    from racer.competence import RacerKNN as RacerKNN
    from racer.context import Context as Context
    from racer.methods import load as load
    from racer.panel import Panel as Panel
    from racer.routing import Budget as Budget
    from racer.routing import Capacity as Capacity
    from racer.routing import Cost as Cost
    from racer.routing import Decision as Decision
    from racer.routing import Router as Router
    from racer.routing import TargetAccuracy as TargetAccuracy
    from racer.routing import Threshold as Threshold

_HOME = {
    "Budget": "racer.routing",
    "Capacity": "racer.routing",
    "Cases": "racer.cases",
    "ClassGated": "racer.competence",
    "ClassifierConfidence": "racer.competence",
    "Context": "racer.context",
    "Cost": "racer.routing",
    "Decision": "racer.routing",
    "GlobalAccuracy": "racer.competence",
    "IFDMLP": "racer.competence",
    "IFDScore": "racer.competence",
    "Panel": "racer.panel",
    "RacerDeepSets": "racer.competence",
    "RacerKNN": "racer.competence",
    "RacerKernel": "racer.competence",
    "Router": "racer.routing",
    "TargetAccuracy": "racer.routing",
    "Threshold": "racer.routing",
    "load": "racer.methods",
}
_ROOMS = (
    *("checks", "competence", "errors", "evaluation", "files", "learning", "methods"),
    *("metrics", "pooling", "report", "routing", "simulation"),
)

__all__ = [*_HOME, *_ROOMS]
__version__ = VERSION


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _ROOMS:
        return import_module(f"racer.{name}")
    raise AttributeError(f"module 'racer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
