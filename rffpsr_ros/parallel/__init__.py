"""Who does the work: this process or a Dask cluster, always with the same result."""
