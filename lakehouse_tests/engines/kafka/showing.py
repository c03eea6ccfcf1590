"""A step with secrets in its Kafka and its catalog, run while everything that it shows is written down.

`python -m lakehouse_tests.engines.kafka.showing CONF OUT`: reads the topic into a table as Dagster would have it, with
Spark's UI and event log on. Below OUT are then the pages of the UI, the event log, the arguments of all processes, what
was sent to Python workers, and Dagster's events with their metadata; stdout and stderr are the logs.
"""

import contextlib
import json
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import psutil
from pyspark.serializers import CloudPickleSerializer

from lakehouse import build_defs, load_settings

PAGES = (
    *("environment/", "jobs/", "stages/", "executors/", "SQL/", "storage/", "executors/threadDump/?executorId=driver"),
    "api/v1/applications",
)
OF_AN_APPLICATION = ("environment", "sql?details=true&planDescription=true", "jobs", "stages?details=true", "executors")
OF_A_QUERY = "SQL/execution/?id="


class Onlooker:
    """Looks at the UI and at all processes until it is told to stop, and keeps what it has seen."""

    def __init__(self, out: Path, ui: str) -> None:
        self._out, self._ui = out, ui
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stopped.is_set():
            # It does not listen yet, says that it is starting, or is gone.
            with contextlib.suppress(urllib.error.URLError, ConnectionError, json.JSONDecodeError):
                for address in self._addresses():
                    with contextlib.suppress(urllib.error.HTTPError):  # there is no such page before the first query
                        self._keep("pages", address, self._page(address))
            for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    self._keep("arguments", str(process.pid), "\0".join(process.cmdline()))
            time.sleep(0.2)

    def _addresses(self) -> Iterator[str]:
        (application,) = json.loads(self._page("api/v1/applications"))
        yield from PAGES
        below = f"api/v1/applications/{application['id']}"
        yield from (f"{below}/{name}" for name in OF_AN_APPLICATION)
        for query in json.loads(self._page(f"{below}/sql")):
            yield f"{OF_A_QUERY}{query['id']}"

    def _page(self, address: str) -> str:
        with urllib.request.urlopen(f"{self._ui}/{address}", timeout=10) as page:
            return page.read().decode()

    def _keep(self, kind: str, name: str, text: str) -> None:
        file = self._out / kind / "".join(char if char.isalnum() else "_" for char in name)
        file.parent.mkdir(exist_ok=True)
        known = file.read_text(encoding="utf-8") if file.exists() else ""
        if text not in known:
            file.write_text(known + text, encoding="utf-8")


def main(conf: Path, out: Path) -> None:
    """Run the step."""
    settings = load_settings(conf)
    sent: list[bytes] = []
    dumps = CloudPickleSerializer.dumps

    def recorded(self: Any, value: Any) -> bytes:
        sent.append(dumps(self, value))
        return sent[-1]

    CloudPickleSerializer.dumps = recorded
    (out / "dagster").mkdir()
    instance = dg.DagsterInstance.local_temp(str(out / "dagster"))
    keys = [dg.AssetKey(["raw", "orders"]), dg.AssetKey(["quarantine", "orders"])]
    job = build_defs(settings).resolve_implicit_global_asset_job_def().get_subset(asset_selection=set(keys))
    with Onlooker(out, f"http://127.0.0.1:{settings.platform.conf['spark.ui.port']}"):
        result = job.execute_in_process(instance=instance, raise_on_error=False)
    events = [entry.to_json() for entry in instance.all_logs(result.run_id)]
    (out / "events").write_text("\n".join(map(str, events)), encoding="utf-8")
    (out / "payloads").write_bytes(b"\n".join(sent))
    print(json.dumps({"success": result.success, "payloads": len(sent)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
