"""Terms of a prior: static, drifting, seasonal and shared ones; f_t is their sum."""

from heliotrope.terms.base import (
    CHOICE as CHOICE,
    NOISE_PART as NOISE_PART,
    SHARED as SHARED,
    MarkovTerm as MarkovTerm,
    Term as Term,
)
from heliotrope.terms.kinds import (
    Drifts as Drifts,
    Level as Level,
    Season as Season,
    Smooth as Smooth,
    Stationary as Stationary,
    Stays as Stays,
    Trend as Trend,
    Walks as Walks,
    as_duration as as_duration,
)
