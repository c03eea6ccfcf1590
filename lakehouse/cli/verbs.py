"""Every verb: where it is, and what it does in a sentence. What it needs is imported when it is asked for.

A command that only looks does not pay for the imports of all others. The sentences stand here a second time, so that
`lakehouse --help` imports none of them; a test compares.
"""

from typing import NamedTuple

ROOM = "lakehouse.cli.commands"


class Verb(NamedTuple):
    """One verb.

    Args:
        name: as it is typed.
        module: that has it, below `lakehouse.cli.commands`.
        help: what it does, as the first paragraph of its help says it.
    """

    name: str
    module: str
    help: str

    @property
    def attribute(self) -> str:
        """What it is called in its module."""
        return self.name.replace("-", "_")


PANELS: dict[str, tuple[Verb, ...]] = {
    "Run": (
        Verb(
            "run",
            "run.run",
            "Load demo or samples, materialize every asset with its checks through Dagster, report, stop what "
            "was started.",
        ),
        Verb(
            "derive",
            "run.derive",
            "Compute derived tables in one run, so that they agree: one date, one set of parameters, one vintage.",
        ),
        Verb("release", "run.release", "Tables that readers see at one vintage: what is current, and the way back."),
        Verb(
            "plan",
            "run.plan",
            "Show how the tables differ from their declarations; exit with 2 if a difference would lose data.",
        ),
        Verb(
            "apply",
            "run.apply",
            "Create, extend and widen tables as declared; nothing is touched if one difference would lose data.",
        ),
    ),
    "Look": (
        Verb(
            "status",
            "look.status",
            "Show what runs, where, what the topics hold, and what streams and mirrors have still before them.",
        ),
        Verb(
            "tables",
            "look.tables",
            "Show every declared table with its rows and snapshot, and how far its stream or mirror is.",
        ),
        Verb(
            "log",
            "look.log",
            "Show who did what to which table, when and by what code: commits, runs, checks, releases and refusals.",
        ),
        Verb(
            "metrics",
            "look.metrics",
            "Print lag, records, rows, commit times and the health of mirrors as OpenMetrics, from seals and offsets.",
        ),
        Verb("catalog", "look.catalog", "The catalog, for engines that are not ours."),
    ),
    "Prove": (
        Verb(
            "audit",
            "prove.audit",
            "Prove that records are there once, mirrors are what their changelogs make, derived tables and "
            "releases agree.",
        ),
        Verb(
            "replay",
            "prove.replay",
            "Read offsets again into a branch and compare with the tables; exit 0: equal, 1: different, 2: "
            "could not run.",
        ),
        Verb(
            "doctor",
            "environment.doctor",
            "Name each wrong or missing key before Spark starts: login, roles, storage, JARs, Java, Python, clock, "
            "ports.",
        ),
        Verb(
            "verify",
            "environment.verify",
            "Try the promises on a catalog, a platform and a Kafka: races, kills, an ingest, a mirror, a release.",
        ),
        Verb(
            "polaris",
            "environment.polaris.command",
            "A Polaris server as code: catalogs, principals, roles and their grants.",
        ),
    ),
    "Repair": (
        Verb(
            "accept-loss",
            "repair.accept_loss",
            "Give up records that retention deleted unread, or that cannot be read, or begin anew in another topic.",
        ),
        Verb(
            "adopt",
            "repair.adopt",
            "Take what the tables of a stream hold now as accounted for, and say in every audit that a person did so.",
        ),
        Verb(
            "quarantine",
            "repair.quarantine",
            "What a stream could not accept: by day and reason, as dead letters on a topic, and let go after its time.",
        ),
        Verb(
            "reprocess",
            "repair.reprocess",
            "Take records out of a stream's quarantine that are acceptable now, and put them where they belong.",
        ),
        Verb(
            "rebuild",
            "repair.rebuild",
            "Fold a mirror's whole changelog anew; readers see the old rows until all new ones are published at once.",
        ),
        Verb(
            "rollback",
            "repair.rollback",
            "Set all tables of one step back to a seal that they share, in one transaction; no file is deleted.",
        ),
        Verb(
            "forward",
            "repair.rollback",
            "Set all tables of one step forward to what they were set back from, as long as its snapshots are there.",
        ),
    ),
    "Maintain": (
        Verb(
            "maintain",
            "maintain.maintain",
            "Look after tables: measure, decide, do what is due, and write down why. With --plan nothing is changed.",
        ),
        Verb(
            "housekeep",
            "maintain.housekeep",
            "Remove branches of runs that died before they published, with the files that only those can see.",
        ),
        Verb("lease", "maintain.lease", "Who needs old snapshots of a table; they stay until a lease ends."),
        Verb(
            "checkpoint",
            "maintain.retire",
            "Compare every row of a mirror with its changelog, and tag that state: later checks may begin there.",
        ),
        Verb(
            "retire",
            "maintain.retire",
            "Remove changes past the changelog's retention that every mirror has in a checkpoint and all others "
            "have read.",
        ),
        Verb(
            "backup",
            "maintain.backup",
            "Copy catalog and tables to a folder while the lakehouse is in use; settings and secrets are not copied.",
        ),
        Verb("restore", "maintain.backup", "Put a backup in the place of a lakehouse that is empty."),
    ),
    "Develop": (
        Verb(
            "init",
            "develop.init",
            "Write a project of your own: settings, one example of a topic and its table, and what Dagster needs.",
        ),
        Verb(
            "dev",
            "develop.dev",
            "Kafka, Spark Connect, Dagster's UI and sensors: new messages become materializations.",
        ),
        Verb(
            "up",
            "develop.up",
            "Start the local Kafka broker, and with --connect the Spark Connect server; what runs already is "
            "left alone.",
        ),
        Verb(
            "down",
            "develop.down",
            "Stop the Spark Connect server and the local Kafka broker; tables, topics and positions stay.",
        ),
        Verb(
            "infer",
            "develop.infer",
            "Propose a declaration of a table and its stream, for you to look at; no value of a record is shown.",
        ),
        Verb(
            "produce",
            "develop.produce",
            "Send the demo's messages that are still missing, more days of flights, or the lines of a file.",
        ),
        Verb("simulate", "develop.simulate", "Send what a source would send: late, twice or out of order if asked."),
        Verb(
            "jars",
            "develop.jars",
            "Bring what is missing of the locked JARs, from LAKEHOUSE_JARS or by Maven, and verify all by SHA-256.",
        ),
    ),
}
