"""Γ(x, y, C): how likely an expert is right, were this role the truth. One estimator a file."""

from racer.competence.class_gated import ClassGated as ClassGated
from racer.competence.confidence import ClassifierConfidence as ClassifierConfidence
from racer.competence.global_accuracy import GlobalAccuracy as GlobalAccuracy
from racer.competence.ifd_mlp import IFDMLP as IFDMLP
from racer.competence.ifd_score import IFDScore as IFDScore
from racer.competence.method import AbstractCompetence as AbstractCompetence
from racer.competence.method import AbstractMethod as AbstractMethod
from racer.competence.pairs import RolePairs as RolePairs
from racer.competence.racer_deepsets import RacerDeepSets as RacerDeepSets
from racer.competence.racer_kernel import RacerKernel as RacerKernel
from racer.competence.racer_knn import RacerKNN as RacerKNN

__all__ = [
    "IFDMLP",
    "AbstractCompetence",
    "AbstractMethod",
    "ClassGated",
    "ClassifierConfidence",
    "GlobalAccuracy",
    "IFDScore",
    "RacerDeepSets",
    "RacerKNN",
    "RacerKernel",
    "RolePairs",
]
