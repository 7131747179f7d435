"""Board games of OpenSpiel."""
