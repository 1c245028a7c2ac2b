"""Ranks that `mpiexec` or Slurm started: who they are, and where the first of them is.

MPI starts the processes and carries one address between them; everything else goes over the
library's own links.
"""

from __future__ import annotations

import socket
from collections.abc import MutableMapping

from wengert.distributed._endpoint import address_towards

# What launchers call the rank, the number of ranks, and the rank on this machine.
_VARIABLES = (
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)


def adopt_ranks(environment: MutableMapping[str, str]) -> None:
    """Set RANK, WORLD_SIZE and LOCAL_RANK from the launcher's variables, where they are missing."""
    if "RANK" in environment:
        return
    for rank, size, local in _VARIABLES:
        if rank in environment and size in environment:
            environment["RANK"] = environment[rank]
            environment.setdefault("WORLD_SIZE", environment[size])
            environment.setdefault("LOCAL_RANK", environment.get(local, environment[rank]))
            return


def adopt_address(environment: MutableMapping[str, str], rank: int) -> None:
    """Set MASTER_ADDR and MASTER_PORT to a free port of rank 0, of which MPI tells the others."""
    if not any(names[0] in environment for names in _VARIABLES):
        return
    try:
        from mpi4py import MPI
    except ImportError:
        raise RuntimeError(
            "mpiexec started this rank, and MASTER_ADDR is not set: to find rank 0, install MPI's"
            " Python package (pip install 'wengert[mpi]'), or set MASTER_ADDR and MASTER_PORT"
        ) from None
    if MPI.COMM_WORLD.size != int(environment["WORLD_SIZE"]):
        raise RuntimeError(
            f"mpiexec started {environment['WORLD_SIZE']} ranks, and mpi4py sees"
            f" {MPI.COMM_WORLD.size}: it was built for another MPI than this mpiexec"
        )
    machines = MPI.COMM_WORLD.allgather(socket.gethostname())
    host = "127.0.0.1" if len(set(machines)) == 1 else address_towards("192.0.2.1")
    with socket.create_server((host, 0)) as probe:
        own = host, probe.getsockname()[1]
    first = MPI.COMM_WORLD.bcast(own if rank == 0 else None, root=0)
    environment["MASTER_ADDR"], environment["MASTER_PORT"] = first[0], str(first[1])


__all__ = ["adopt_address", "adopt_ranks"]
