"""For people who write a policy of their own: the laws that every policy here keeps."""

from heliotrope.testing.check import BrokenLaw, check_policy
from heliotrope.testing.laws import LAWS

__all__ = ["LAWS", "BrokenLaw", "check_policy"]
