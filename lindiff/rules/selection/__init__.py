"""Selection: where, choose, sort, take, masks."""
