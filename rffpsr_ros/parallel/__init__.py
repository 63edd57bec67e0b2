"""Computing in this process or on a Dask cluster, with the same bits."""
