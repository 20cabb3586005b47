/*
 * Numbers of the corosync services and limits of a cluster.
 * Generated from the libraries' sources; change those, then run
 * `cargo run -p evensong-headers`.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef EVENSONG_CORODEFS_H
#define EVENSONG_CORODEFS_H

#include <netinet/in.h>

/* Most nodes of a cluster. */
#ifdef HAVE_SMALL_MEMORY_FOOTPRINT
#define PROCESSOR_COUNT_MAX 16
#else
#define PROCESSOR_COUNT_MAX 384
#endif

/* Bytes that hold an address of any family. */
#ifndef TOTEMIP_ADDRLEN
#define TOTEMIP_ADDRLEN (sizeof(struct in6_addr))
#endif

/**
 * Numbers of the services.
 */
enum corosync_service_types {
  /**
   * Configuration map.
   */
  CMAP_SERVICE = 0,
  /**
   * Cluster control.
   */
  CFG_SERVICE = 1,
  /**
   * Closed process groups.
   */
  CPG_SERVICE = 2,
  /**
   * Quorum.
   */
  QUORUM_SERVICE = 3,
  /**
   * Load generator.
   */
  PLOAD_SERVICE = 4,
  /**
   * Votes.
   */
  VOTEQUORUM_SERVICE = 5,
  /**
   * Resource monitor.
   */
  MON_SERVICE = 6,
  /**
   * Watchdog.
   */
  WD_SERVICE = 7,
};

#endif /* EVENSONG_CORODEFS_H */
