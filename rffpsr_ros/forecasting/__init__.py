"""Following a robot message by message: the belief, and forecasts under assumed future actions."""
