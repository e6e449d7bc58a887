"""From functions to their derivatives: each transform walks the record of one run of the function."""
