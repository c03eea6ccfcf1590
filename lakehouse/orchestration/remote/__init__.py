"""Steps in drivers of their own: asked for by Dagster's process, done by `lakehouse.remote_step`, told by Pipes."""
