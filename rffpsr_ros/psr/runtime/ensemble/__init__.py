"""Several models in one compiled call: their ticks and forecasts, and the blend of these."""
