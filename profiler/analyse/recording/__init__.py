"""One kernel of one recording: its launches, metrics, work and source lines."""
