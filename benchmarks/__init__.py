"""Speed beside named rivals, in one run on one machine: ``make bench``."""
