"""Runs printed plans on virtual CPU devices: ``python -m tests.support.jax_plans`` with JAX."""

from __future__ import annotations

import os
import sys
from typing import Any

DEVICES = 8
SPECS = (
    ("P('x', 'y')", "P(('x', 'y'), None)"),
    ("P(('x', 'y'), None)", "P('x', 'y')"),
    ("P('x', None)", "P(None, 'x')"),
    ("P('x', 'y')", "P('y', 'x')"),
    ("P('x', 'y')", "P(None, None)"),
    ("P(None, None)", "P('y', 'x')"),
    ("P('y', None)", "P(('x', 'y'), None)"),
    ("P(('x', 'y'), None)", "P(('y', 'x'), None)"),
    ("P(None, ('y', 'x'))", "P('x', None)"),
    ("P('x', 'y')", "P('x', 'y')"),
    ("P('x', None)", "P(None, ('x', 'y'))"),
)


def main() -> None:
    """Bring an array from each sharding to the other, and compare devices and values."""
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={DEVICES}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import numpy as np
    from jax.sharding import NamedSharding

    from morello_layouts import reshard

    meshes = ("mesh={'x': 2, 'y': 4}", "mesh={'x': 4, 'y': 2}, devices=[7,6,5,4,3,2,1,0]")
    for mesh in meshes:
        for source, target in SPECS:
            texts = [f"f32[16,32], {mesh}, spec={spec}" for spec in (source, target)]
            for collectives in (True, False):
                code = reshard(*texts).jax(collectives=collectives)
                names: dict[str, Any] = {}
                exec(code, names)
                before, after = names["before"], names["after"]
                if not isinstance(before, NamedSharding):
                    before, after = (NamedSharding(names["mesh"], x) for x in (before, after))
                array = np.arange(512, dtype=np.float32).reshape(16, 32)
                found = names["reshard"](jax.device_put(array, before))
                assert (np.asarray(found) == array).all(), code
                assert found.sharding.is_equivalent_to(after, 2), f"{found.sharding}\n{code}"
                wanted = reshard(*texts).target
                for shard in found.addressable_shards:
                    first = [part.start or 0 for part in shard.index]
                    holders = [p["device"] for p in wanted.place(*first).holders]
                    assert shard.device.id in holders, code
    sys.stdout.write(f"{2 * 2 * len(SPECS)} plans ran\n")


if __name__ == "__main__":
    main()
