"""Tuning a live system: limits that hold, a baseline to beat, and moves that are not too large."""

from heliotrope.live.beliefs import (
    Belief as Belief,
    Trust as Trust,
    standardized_error as standardized_error,
)
from heliotrope.live.choosing import Chooser as Chooser, Standing as Standing
from heliotrope.live.deciding import Decision as Decision, Reason as Reason, View as View
from heliotrope.live.description import Live as Live
from heliotrope.live.gains import Gain as Gain, TotalGain as TotalGain, gain as gain
from heliotrope.live.holding import (
    hold_until as hold_until,
    value_of_measuring as value_of_measuring,
)
from heliotrope.live.moving import Distances as Distances
from heliotrope.live.rules import (
    Limit as Limit,
    Moves as Moves,
    Remeasure as Remeasure,
    Rules as Rules,
    limits_to_json as limits_to_json,
    read_limits as read_limits,
)
from heliotrope.live.trading import front as front, random_sum as random_sum
from heliotrope.live.watching import watching as watching, watching_policy as watching_policy
