//! Finds the built libraries and the daemon for the tests.
