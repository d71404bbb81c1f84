"""Programs that do the work: how each is started on an order, and how its report is read."""
