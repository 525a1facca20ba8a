"""The paper's figures: each runs its trials, tests the paper's claims and draws its picture."""

from collections.abc import Callable, Mapping

from heliotrope.lab.reproduction.figure import Figure, FigureOptions
from heliotrope.lab.reproduction.matched import fig2a, fig2b
from heliotrope.lab.reproduction.mismatch import fig2c, fig2d
from heliotrope.lab.reproduction.run import Reproduction, reproduce_figure
from heliotrope.lab.reproduction.samples import fig1
from heliotrope.lab.reproduction.temperature import temperature
from heliotrope.lab.reproduction.traffic import traffic

FIGURES: Mapping[str, Callable[[FigureOptions], Figure]] = {
    "fig1": fig1,
    "fig2a": fig2a,
    "fig2b": fig2b,
    "fig2c": fig2c,
    "fig2d": fig2d,
    "temperature": temperature,
    "traffic": traffic,
}

__all__ = ["FIGURES", "Figure", "FigureOptions", "Reproduction", "reproduce_figure"]
