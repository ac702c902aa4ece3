"""Pictures from plain numbers; the only place that knows matplotlib."""
