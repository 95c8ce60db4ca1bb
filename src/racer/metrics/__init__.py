"""How good is the routing, and do the probabilities mean what they say?"""

from racer.metrics.balanced import MacroArea as MacroArea
from racer.metrics.balanced import aursbac as aursbac
from racer.metrics.balanced import balanced_curve as balanced_curve
from racer.metrics.balanced import macro_aursbac as macro_aursbac
from racer.metrics.bootstrap import CurveBand as CurveBand
from racer.metrics.bootstrap import bootstrap_aursac as bootstrap_aursac
from racer.metrics.bootstrap import bootstrap_curve as bootstrap_curve
from racer.metrics.bootstrap import bootstrap_gain as bootstrap_gain
from racer.metrics.calibration import Reliability as Reliability
from racer.metrics.calibration import binary_nll as binary_nll
from racer.metrics.calibration import brier as brier
from racer.metrics.calibration import ece as ece
from racer.metrics.calibration import nll as nll
from racer.metrics.calibration import reliability as reliability
from racer.metrics.curve import SystemCurve as SystemCurve
from racer.metrics.curve import aursac as aursac
from racer.metrics.curve import system_curve as system_curve
from racer.metrics.deferral import DeferralCurve as DeferralCurve
from racer.metrics.deferral import aurdac as aurdac
from racer.metrics.deferral import deferral_curve as deferral_curve
from racer.metrics.interval import Interval as Interval
from racer.metrics.resampling import Resample as Resample
from racer.metrics.verdict import Verdict as Verdict
from racer.metrics.verdict import verdict as verdict

__all__ = [
    "CurveBand",
    "DeferralCurve",
    "Interval",
    "MacroArea",
    "Reliability",
    "Resample",
    "SystemCurve",
    "Verdict",
    "aurdac",
    "aursac",
    "aursbac",
    "balanced_curve",
    "binary_nll",
    "bootstrap_aursac",
    "bootstrap_curve",
    "bootstrap_gain",
    "brier",
    "deferral_curve",
    "ece",
    "macro_aursbac",
    "nll",
    "reliability",
    "system_curve",
    "verdict",
]
