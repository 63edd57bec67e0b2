"""Several models of one system, whose forecasts are added up with weights."""
