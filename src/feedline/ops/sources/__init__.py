"""Sources: the datasets that pipelines start from."""
