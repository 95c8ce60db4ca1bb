"""Experts whose true competence is known.

hidden subtypes of the cases ──► competence of sampled experts ──► answers, wrong ones by a confusion prior
"""

from racer.simulation.answers import SimulatedAnswers as SimulatedAnswers
from racer.simulation.answers import sample_answers as sample_answers
from racer.simulation.confusion import superclass_confusion as superclass_confusion
from racer.simulation.confusion import uniform_confusion as uniform_confusion
from racer.simulation.groups import ExpertGroup as ExpertGroup
from racer.simulation.groups import ExpertGroups as ExpertGroups
from racer.simulation.groups import GroupSizes as GroupSizes
from racer.simulation.population import ExpertPopulation as ExpertPopulation
from racer.simulation.profile import SkillProfile as SkillProfile
from racer.simulation.subtypes import Subtypes as Subtypes
from racer.simulation.subtypes import random_subtypes as random_subtypes

__all__ = [
    "ExpertGroup",
    "ExpertGroups",
    "ExpertPopulation",
    "GroupSizes",
    "SimulatedAnswers",
    "SkillProfile",
    "Subtypes",
    "random_subtypes",
    "sample_answers",
    "superclass_confusion",
    "uniform_confusion",
]
