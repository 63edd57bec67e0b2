"""HSE-PSR: the predictive state representation by Gram matrices."""
