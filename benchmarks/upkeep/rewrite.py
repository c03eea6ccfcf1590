"""How fast files are rewritten, in an order or as they come, with all that belongs to it: proof, seal, publish."""

import os
import time
from dataclasses import asdict, dataclass

from pyiceberg.transforms import IdentityTransform

from benchmarks.accounting import cpu_seconds
from benchmarks.upkeep.events import NEVER_QUIET, Session, append, create, events, frame, rows_in, work
from lakehouse.declarations import Maintenance, Rewrite
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.rewrite import compact

MB = 1_000_000


@dataclass(frozen=True)
class Rewritten:
    """One rewrite of a whole table.

    Args:
        strategy: binpack, sort or zorder.
        bytes: of the files that went.
        files_out: of them.
        files_in: that came.
        seconds: of everything.
        cpu_seconds: of everything, Spark and this process.
        proof_seconds: of the proof alone.
        proof_cpu_seconds: of this process, which does little else than the proof.
        cores: that Spark had.
    """

    strategy: str
    bytes: int
    files_out: int
    files_in: int
    seconds: float
    cpu_seconds: float
    proof_seconds: float
    proof_cpu_seconds: float
    cores: int

    @property
    def rewrite_seconds(self) -> float:
        """Without the proof."""
        return self.seconds - self.proof_seconds

    @property
    def per_core(self) -> float:
        """MB/s/core of the rewrite without its proof."""
        return self.bytes / MB / self.rewrite_seconds / self.cores

    @property
    def per_core_proven(self) -> float:
        """MB/s/core with it."""
        return self.bytes / MB / self.seconds / self.cores

    @property
    def proof_share(self) -> float:
        """The proof's time as a share of the rewrite's."""
        return self.proof_seconds / self.rewrite_seconds

    @property
    def proof_cpu_share(self) -> float:
        """The same in CPU time."""
        return self.proof_cpu_seconds / (self.cpu_seconds - self.proof_cpu_seconds)

    def to_dict(self) -> dict[str, object]:
        """For the file with the results."""
        shares = ("per_core", "per_core_proven", "proof_share", "proof_cpu_share")
        return {**asdict(self), **{name: round(getattr(self, name), 3) for name in shares}}


def rewrite(catalog: LakeCatalog, session: Session, strategy: str, *, megabytes: int, files: int) -> Rewritten:
    """Fill a table with small files, and rewrite all of it.

    Args:
        catalog: where the table is made.
        session: opens Spark.
        strategy: binpack, sort or zorder.
        megabytes: of the table, about.
        files: that it lies in before.
    """
    zorder = ("account", "amount") if strategy == "zorder" else ()
    policy = Maintenance(
        layout="none",
        rewrite=Rewrite(strategy="auto" if strategy == "sort" else strategy, zorder_by=zorder, quiet_for=NEVER_QUIET),  # pyright: ignore[reportArgumentType]
    )
    order = ("account", "at") if strategy == "sort" else ()
    table = events(f"bench.{strategy}_{time.time_ns() // MB}", policy)
    create(catalog, table)
    with session() as spark:
        append(catalog, table.name, frame(spark, rows_in(megabytes), files))
    if order:
        with catalog.load_table(table.identifier).update_sort_order() as update:
            for column in order:
                update.asc(column, IdentityTransform())
    given = work(catalog, table, session)
    size = sum(task.file.file_size_in_bytes for task in given.base.table.scan().plan_files())
    all_cpu, own_cpu = cpu_seconds(os.getpid()), time.process_time()
    done = compact.run(given, Action(operation=Operation.REWRITE))
    all_cpu, own_cpu = cpu_seconds(os.getpid()) - all_cpu, time.process_time() - own_cpu
    if done.result != "done" or done.after is None:
        raise RuntimeError(f"{strategy}: {done.result}: {done.message}")
    rewritten = Rewritten(
        strategy=strategy,
        bytes=size,
        files_out=done.effect.files_out or 0,
        files_in=done.effect.files_in or 0,
        seconds=round(done.after.seconds, 2),
        cpu_seconds=round(all_cpu, 2),
        proof_seconds=done.effect.proof_seconds or 0.0,
        proof_cpu_seconds=round(own_cpu, 2),
        cores=len(os.sched_getaffinity(0)),
    )
    catalog.drop_table(table.identifier)
    return rewritten
