"""A projection that changes nothing is left out."""

from __future__ import annotations

from penstock.plan.nodes import Plan, Project


def remove_trivial_project(plan: Plan) -> Plan | None:
    """The input, if the projection gives its very columns in their order under their names."""
    match plan:
        case Project(input=below) if tuple((name, scalar.column) for name, scalar in plan.items) == tuple(
            (name, name) for name in below.names
        ):
            return below
        case _:
            return None
