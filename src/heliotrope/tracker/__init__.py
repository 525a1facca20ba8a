"""The tracker: the state machine under an optimizer and a study."""

from heliotrope.tracker.metric import (
    REPLAYED as REPLAYED,
    Metric as Metric,
    check_weighing as check_weighing,
)
from heliotrope.tracker.outlook import Outlook as Outlook, Setup as Setup
from heliotrope.tracker.tracker import Progress as Progress, Results as Results, Tracker as Tracker
