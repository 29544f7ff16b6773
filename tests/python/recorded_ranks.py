# SPDX-License-Identifier: MIT
"""Two processes that add gradients; each records its own file into a folder: `recorded_ranks.py FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn

import repdl


def work(rank: int, folder: Path) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder / 'store'}", rank=rank, world_size=2)
    torch.manual_seed(0)
    with repdl.record(folder / str(rank), quiet=True):
        model = nn.parallel.DistributedDataParallel(nn.Linear(3, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.full((4, 3), rank + 1.0)).sum().backward()
        optimizer.step()
        x = torch.full((3,), rank + 1.0)
        dist.all_reduce(x, async_op=True).wait()
        if rank:
            dist.send(x.neg(), 0)
        else:
            dist.recv(x, 1)
        x.exp()
        gathered = [torch.empty(3) for _ in range(2)]
        dist.all_gather(gathered, x)
        gathered[1].sin()
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.start_processes(work, (Path(sys.argv[1]),), 2, start_method="fork")  # type: ignore[attr-defined]
