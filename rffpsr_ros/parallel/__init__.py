"""Computing in this process, in processes beside it or on a Dask cluster, with the same bits."""
