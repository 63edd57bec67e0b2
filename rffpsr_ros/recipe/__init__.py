"""What `RFFPSR()` decides: prepare, candidates, select, blend, calibrate."""
