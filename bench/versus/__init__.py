"""feedline beside its peers: environments, data, workloads, runner, tables and charts of `make versus`."""
