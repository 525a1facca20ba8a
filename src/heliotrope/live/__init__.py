"""Tuning a live system: limits that hold, a baseline to beat, and moves that are not too large."""

from heliotrope.live.beliefs import (
    Belief as Belief,
    Gain as Gain,
    TotalGain as TotalGain,
    Trust as Trust,
    front as front,
    gain as gain,
    hold_until as hold_until,
    random_sum as random_sum,
    standardized_error as standardized_error,
    value_of_measuring as value_of_measuring,
    watching as watching,
    watching_policy as watching_policy,
)
from heliotrope.live.choosing import Decision as Decision, Reason as Reason, View as View
from heliotrope.live.rules import (
    Distances as Distances,
    Limit as Limit,
    Live as Live,
    Moves as Moves,
    Remeasure as Remeasure,
    Rules as Rules,
    limits_to_json as limits_to_json,
    read_limits as read_limits,
)
