"""Objectives (one equation a file), episodes, and the loop that fits a head on them."""

from racer.learning.competence_loss import competence_loss as competence_loss
from racer.learning.early_stopping import fit_with_early_stopping as fit_with_early_stopping
from racer.learning.early_stopping import seeded_linear as seeded_linear
from racer.learning.episodes import Episode as Episode
from racer.learning.episodes import EpisodeSampler as EpisodeSampler
from racer.learning.episodes import hold_out_experts as hold_out_experts
from racer.learning.episodes import require_head_settings as require_head_settings
from racer.learning.progress import progress_bar as progress_bar
from racer.learning.turns import in_turns as in_turns

__all__ = [
    "Episode",
    "EpisodeSampler",
    "competence_loss",
    "fit_with_early_stopping",
    "hold_out_experts",
    "in_turns",
    "progress_bar",
    "require_head_settings",
    "seeded_linear",
]
