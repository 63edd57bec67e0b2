"""Models as C99: one header, one source file, no dependency, no memory asked for."""
