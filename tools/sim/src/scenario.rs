//! Runs that follow a script: a test says what happens when, and what must be true then.
