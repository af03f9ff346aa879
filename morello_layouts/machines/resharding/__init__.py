"""Resharding: what must move between two shardings of one array, and how it moves."""

from morello_layouts.machines.resharding.combs import Message, Run
from morello_layouts.machines.resharding.log import Rematerialization
from morello_layouts.machines.resharding.plan import Plan, Totals

__all__ = ["Message", "Plan", "Rematerialization", "Run", "Totals"]
