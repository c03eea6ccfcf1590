"""CPU time of a process and all its descendants, dead ones included.

What a dead process used is added by the kernel to the account of whoever waited for it; until then it is a zombie with
an account of its own. So the sum over the living of *own and waited-for* time misses nobody, as long as orphans are
waited for inside the tree: the root has to be a subreaper, or have no children that make orphans.
"""

import ctypes
import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Let orphaned descendants become children of this process rather than of the system's first one.

    Raises:
        OSError: The kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "this process cannot adopt orphans")


def cpu_seconds(root: int) -> float:
    """CPU seconds, user and system, that a process and its descendants have used so far."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text(errors="replace")
            except (FileNotFoundError, ProcessLookupError):
                continue  # gone since, and waited for: its parent has it
            fields = stat.rpartition(")")[2].split()
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime
    return sum(used for pid, used in ticks.items() if _belongs(pid, root, parents)) / _TICKS


def _belongs(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid != root:
        if pid not in parents:
            return False
        pid = parents[pid]
    return True
