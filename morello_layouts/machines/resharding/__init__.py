"""Resharding: what must move between two shardings of one array, and how it moves."""

from morello_layouts.machines.resharding.combs import Message, Run
from morello_layouts.machines.resharding.plan import ExchangeTotals, Plan, Rematerialization

__all__ = ["ExchangeTotals", "Message", "Plan", "Rematerialization", "Run"]
