"""Checks for custom policies: the laws that every policy of this package keeps."""

from heliotrope.testing.check import BrokenLaw, check_policy
from heliotrope.testing.laws import LAWS

__all__ = ["LAWS", "BrokenLaw", "check_policy"]
