"""How many rows a target needs, and how far a learnt network can be from the truth."""

from gaussnet.planning.certificate import Certificate, certify
from gaussnet.planning.plans import Plan, plan

__all__ = ["Certificate", "Plan", "certify", "plan"]
