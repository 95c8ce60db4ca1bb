"""One torch thread a worker, one Hypothesis profile, and every shape that the package writes down is checked."""

from jaxtyping import install_import_hook

install_import_hook("racer", "shapes.check")

import torch  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

torch.set_num_threads(1)
settings.register_profile(
    "racer", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
settings.load_profile("racer")
