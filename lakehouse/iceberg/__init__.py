"""The lowest floor: manifests, delete files, reachable files, content hashes. No catalog and no table of ours."""
