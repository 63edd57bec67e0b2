"""The nodes of a demonstration: started as processes, watched from outside."""
