//! `libevs.so.4`: extended virtual synchrony.
