"""Was it worth it? A method tried on answers it was not shown."""

from racer.evaluation.comparison import Compared as Compared
from racer.evaluation.evaluation import Evaluation as Evaluation
from racer.evaluation.evaluation import ExpertRow as ExpertRow
from racer.evaluation.evaluation import evaluate as evaluate
from racer.evaluation.group import Calibration as Calibration
from racer.evaluation.group import Group as Group
from racer.evaluation.plain import to_plain_evaluation as to_plain_evaluation

__all__ = ["Calibration", "Compared", "Evaluation", "ExpertRow", "Group", "evaluate", "to_plain_evaluation"]
