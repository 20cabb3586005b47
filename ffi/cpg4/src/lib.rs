//! `libcpg.so.4`: closed process groups.
