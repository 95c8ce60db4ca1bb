"""What to be careful about: said on standard error, and on top of the report."""

from racer.evaluation import Evaluation
from racer.files import NamedPanel

__all__ = ["cautions", "doubts"]

ENOUGH = 20
"""Answers after which being right in all of them looks like the truth itself."""


def doubts(named: NamedPanel) -> list[str]:
    """What looks wrong in the files themselves."""
    panel, found = named.panel, []
    n, right = panel.count.sum(1), panel.n_right.sum(1)
    perfect = [panel.experts[row] for row in ((n >= ENOUGH) & (right == n)).nonzero()[:, 0].tolist()]
    if perfect:
        names = ", ".join(perfect[:5])
        found.append(f"right every time: {names}. Is it an expert, or a column that holds the truth?")
    model = float((panel.cases.prediction == panel.label).double().mean())
    if len(panel.cases) >= ENOUGH and model < 1 / panel.n_roles:
        found.append(
            f"the model is right in {model:.1%} of the cases, less than by chance: are the classes in the order of the "
            "posterior's columns?"
        )
    return found


def cautions(result: Evaluation, again: int) -> list[str]:
    """What keeps an evaluation from meaning what it seems to. `again` cases were in the fit, too."""
    found = []
    if again:
        found.append(f"{again:,} of these cases were in the fit, too; what they show is too good to be true.")
    if result.is_everybody_seen:
        found.append("all experts here were seen in fitting; how strangers fare is not known.")
    best = next((one.behind for one in result.everybody.rules if one.name == "best expert"), None)
    if best is not None and best.is_below_zero:
        found.append(
            "asking the best expert where the model is least sure does better than this method here. Methods that need "
            "less to learn from: fit --method global-accuracy, ifd-score, racer-knn."
        )
    return found
