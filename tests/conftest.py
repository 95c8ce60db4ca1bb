"""One torch thread a worker, and one Hypothesis profile."""

import torch
from hypothesis import HealthCheck, settings

torch.set_num_threads(1)
settings.register_profile("racer", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("racer")
