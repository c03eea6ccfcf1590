"""Our Python daemon, except that a worker that ends stays a zombie, so that the time it used can still be read.

Spark's daemon ignores the death of its workers; the kernel then forgets their time instead of adding it to a parent's.
"""

import importlib
import signal

from lakehouse.engines.worker_daemon import prepare

if __name__ == "__main__":
    prepare()
    daemon = importlib.import_module("pyspark.daemon")
    vars(daemon)["SIGCHLD"] = signal.SIGURG  # so what it ignores is another signal, which nobody sends
    daemon.manager()
