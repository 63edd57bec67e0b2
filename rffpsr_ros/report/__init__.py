"""One page that shows how good a model is: for screens, phones and paper, without network."""
