"""What a submitted driver runs. What to do is in its job's folder, and there it reports.

`python -m lakehouse.remote_step --folder s3://bucket/steps/ingest_flights/<root run>/1 [--environ '{"NAME": "value"}']`
"""

import argparse
import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

# As a file of `spark-submit` this folder would be the first in which Python looks for modules.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]


def main(arguments: list[str]) -> int:
    """Do the step, and report; 0 if it succeeded."""
    parser = argparse.ArgumentParser(prog="python -m lakehouse.remote_step", description="Does one step of a run.")
    parser.add_argument("--folder", required=True, help="of the job")
    parser.add_argument("--environ", type=json.loads, default={}, help="variables that name settings, as JSON")
    given, _ = parser.parse_known_args(arguments)  # AWS Glue adds arguments of its own
    os.environ.update(given.environ)
    from dagster_pipes import (
        PipesContext,
        PipesContextData,
        PipesContextLoader,
        PipesMappingParamsLoader,
        PipesParams,
        encode_param,
        open_dagster_pipes,
    )

    from lakehouse.engines.submit.job_folder import REQUEST_FILE, folder_at
    from lakehouse.engines.submit.message_writer import FolderMessageWriter
    from lakehouse.settings import load_settings

    settings = load_settings()
    folder = folder_at(settings, given.folder)

    class _Loader(PipesContextLoader):
        @contextmanager
        def load_context(self, params: PipesParams) -> Generator[PipesContextData]:  # noqa: ARG002
            yield json.loads(folder.read(REQUEST_FILE) or b"{}")

    def done(pipes: PipesContext) -> bool:
        if unfit := _another_spark():
            end = {"kind": "end", "outcome": "failure", "seconds": 0.0, "error": "SparkUnfit", "message": unfit}
            pipes.report_custom_message(end)
            return False
        from lakehouse.garbage import uncollected

        with uncollected():
            from lakehouse.remote_step.step import do_step
        return do_step(pipes, settings)

    nothing = encode_param({})
    with open_dagster_pipes(
        context_loader=_Loader(),
        message_writer=FolderMessageWriter(folder),
        params_loader=PipesMappingParamsLoader({"DAGSTER_PIPES_CONTEXT": nothing, "DAGSTER_PIPES_MESSAGES": nothing}),
    ) as pipes:
        return 0 if done(pipes) else 1


def _another_spark() -> str:
    """What is wrong with the PySpark of this machine, which a service may bring; empty if nothing is."""
    import pyspark

    from lakehouse.engines.submit.order import SPARK

    if pyspark.__version__.split(".")[:2] == SPARK.split("."):
        return ""
    return (
        f"Spark of this service is {pyspark.__version__}, and lakehouse needs {SPARK}. Remedy: choose a release that "
        "brings it, or run on Kubernetes, where the image does."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
