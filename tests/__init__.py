"""The tests; a package so that `tests.helpers` has one name everywhere."""
