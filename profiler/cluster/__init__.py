"""Other processes, here and on other machines, that do work for this one: reached by Dask, which schedules them."""
