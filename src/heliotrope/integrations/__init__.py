"""Adapters to other projects, one module each: optuna, gest_api, ax, ray, river, gymnasium.

Each module needs the extra of its own name and is imported by itself, as in
``from heliotrope.integrations.optuna import HeliotropeSampler``.
"""
