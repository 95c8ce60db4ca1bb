"""Policies as JSON has them, and back."""

from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, cast

from racer.errors import SettingError
from racer.routing.capacity import Capacity
from racer.routing.cost import Cost
from racer.routing.policy import AbstractPolicy, Budget, Threshold
from racer.routing.target_accuracy import TargetAccuracy

__all__ = ["policy_from_plain", "policy_to_plain"]

POLICIES: Mapping[str, type[AbstractPolicy]] = {
    "threshold": Threshold,
    "budget": Budget,
    "target-accuracy": TargetAccuracy,
    "cost": Cost,
    "capacity": Capacity,
}


def policy_to_plain(policy: AbstractPolicy) -> dict[str, Any]:
    """Name and settings, a wrapped policy inside.

    >>> policy_to_plain(Budget(0.2))
    {'policy': 'budget', 'settings': {'share': 0.2}}
    """
    name = next((name for name, kind in POLICIES.items() if type(policy) is kind), None)
    settings = {one.name: getattr(policy, one.name) for one in fields(cast(Any, policy))} if name else {}
    unfit = [key for key, value in settings.items() if not (isinstance(value, AbstractPolicy) or _is_plain(value))]
    if name is None or unfit:
        why = f"'{unfit[0]}' is a {type(settings[unfit[0]]).__name__}" if unfit else "it is a class of your own"
        raise SettingError(
            f"The policy {type(policy).__name__} cannot be saved.",
            f"Here {why}; only numbers, and numbers by expert, last longer than one batch.",
            "Save the router with another policy, and give this one to route(queries, policy=…).",
        )
    plain = {
        key: policy_to_plain(one) if isinstance(one, AbstractPolicy) else _plain(one) for key, one in settings.items()
    }
    return {"policy": name, "settings": plain}


def policy_from_plain(value: Any) -> AbstractPolicy:
    """The policy again; TypeError where that is none.

    >>> policy_from_plain({"policy": "budget", "settings": {"share": 0.2}})
    Budget(share=0.2)
    """
    if not (isinstance(value, dict) and value.get("policy") in POLICIES and isinstance(value.get("settings"), dict)):
        raise TypeError(f"a policy is {str(value)[:60]}")
    kind = POLICIES[value["policy"]]
    settings = {key: policy_from_plain(one) if key == "policy" else one for key, one in value["settings"].items()}
    if settings.keys() != {one.name for one in fields(cast(Any, kind))}:
        raise TypeError(f"the policy '{value['policy']}' has the settings {sorted(settings)}")
    if not all(isinstance(one, AbstractPolicy) or _is_plain(one) for one in settings.values()):
        raise TypeError(f"a setting of the policy '{value['policy']}' is no number")
    return kind(**settings)


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_number(one) for key, one in value.items())
    return value is None or _is_number(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return value if value is None else int(value) if isinstance(value, Integral) else float(value)
