"""What can be measured of two arrays: numbers and places, no verdict."""
