"""The demos: policies track a drifting function (``drift``) or a daily season (``season``)."""
