"""Objectives (one equation a file), episodes, and the loop that fits a head on them."""

from racer.learning.class_loss import class_loss as class_loss
from racer.learning.competence_loss import competence_loss as competence_loss
from racer.learning.deferral_loss import deferral_loss as deferral_loss
from racer.learning.early_stopping import fit_with_early_stopping as fit_with_early_stopping
from racer.learning.early_stopping import seeded_linear as seeded_linear
from racer.learning.episodes import Episode as Episode
from racer.learning.episodes import EpisodeSampler as EpisodeSampler
from racer.learning.episodes import hold_out_experts as hold_out_experts
from racer.learning.episodes import require_head_settings as require_head_settings
from racer.learning.one_vs_all_loss import one_vs_all_loss as one_vs_all_loss
from racer.learning.posterior_loss import posterior_loss as posterior_loss
from racer.learning.progress import progress_bar as progress_bar
from racer.learning.turns import in_proportion as in_proportion
from racer.learning.turns import in_turns as in_turns

__all__ = [
    "Episode",
    "EpisodeSampler",
    "class_loss",
    "competence_loss",
    "deferral_loss",
    "fit_with_early_stopping",
    "hold_out_experts",
    "in_proportion",
    "in_turns",
    "one_vs_all_loss",
    "posterior_loss",
    "progress_bar",
    "require_head_settings",
    "seeded_linear",
]
