"""libEnsemble: the gest-api generator on the manager, evaluations by two workers."""

from __future__ import annotations

from typing import Any

from gest_api.vocs import VOCS
from libensemble import Ensemble
from libensemble.alloc_funcs.start_only_persistent import only_persistent_gens
from libensemble.specs import AllocSpecs, ExitCriteria, GenSpecs, LibeSpecs, SimSpecs

from heliotrope.integrations.gest_api import HeliotropeGenerator


def measure(point: dict[str, Any]) -> dict[str, float]:
    return {"f": -float((point["x"] - 0.7) ** 2)}


def main(evaluations: int = 20) -> float:
    vocs = VOCS(variables={"x": [0.0, 1.0]}, objectives={"f": "MAXIMIZE"})
    specs = LibeSpecs(gen_on_manager=True, nworkers=2, comms="threads", disable_log_files=True)
    workflow = Ensemble(
        libE_specs=specs,
        gen_specs=GenSpecs(generator=HeliotropeGenerator(vocs), batch_size=2, vocs=vocs),
        sim_specs=SimSpecs(simulator=measure, vocs=vocs),
        alloc_specs=AllocSpecs(alloc_f=only_persistent_gens),
        exit_criteria=ExitCriteria(sim_max=evaluations),
    )
    history, _, _ = workflow.run()
    return float(history["f"][history["sim_ended"]].max())


if __name__ == "__main__":
    print(f"highest value: {main():.3f}")
