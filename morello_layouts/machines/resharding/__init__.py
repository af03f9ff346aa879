"""Resharding: what must move between two shardings of one array, and how it moves."""

from morello_layouts.machines.resharding.combs import Message, Run
from morello_layouts.machines.resharding.counts import ExchangeTotals
from morello_layouts.machines.resharding.exchange import Boxes
from morello_layouts.machines.resharding.plan import Plan, Rematerialization
from morello_layouts.machines.resharding.steps import Schedule

__all__ = ["Boxes", "ExchangeTotals", "Message", "Plan", "Rematerialization", "Run", "Schedule"]
