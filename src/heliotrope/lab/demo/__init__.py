"""The demos: policies track a drifting function (``drift``), or a day that returns (``season``)."""
