"""What can be measured, as data."""
