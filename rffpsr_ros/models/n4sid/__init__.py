"""N4SID: a linear state space model by subspace identification."""
