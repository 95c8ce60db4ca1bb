"""`racer inspect`: what is in a router."""

from racer.cli.options import RouterFolder

__all__ = ["inspect"]


def inspect(router: RouterFolder) -> None:
    """Say what a router holds: method, classes, and who may be asked."""
    from racer.cli.saying import experts_table, say
    from racer.routing import Router

    found = Router.load(router)
    origin, panel = found.origin, found.panel
    say(f"method        {found.method!r}")
    say(f"fitted        on {len(origin.fitted_on):,} experts, context size {origin.context_size}, seed {origin.seed}")
    say(f"policy        {found.policy!r}, unless 'racer route' says another")
    if panel is None:
        say("nobody is enrolled")
        return
    names = "numbers" if origin.classes is None else ", ".join(origin.classes)
    say(f"classes       {panel.n_roles}: {names}")
    say(f"cases         {panel.cases.n_features} features, {panel.cases.dtype}".replace("torch.", ""))
    say(f"answers       {panel.n_answers:,} of {len(panel):,} experts to {len(panel.cases):,} cases")
    say("")
    experts_table(panel)
