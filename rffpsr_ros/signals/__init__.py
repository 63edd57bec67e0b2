"""Messages to vectors: field paths, the channel configuration and the sampler."""
