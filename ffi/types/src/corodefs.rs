//! Types of `corosync/corodefs.h`: numbers of the services, size of a cluster.

/// Numbers of the services.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum corosync_service_types {
    /// Configuration map.
    CMAP_SERVICE = 0,
    /// Cluster control.
    CFG_SERVICE = 1,
    /// Closed process groups.
    CPG_SERVICE = 2,
    /// Quorum.
    QUORUM_SERVICE = 3,
    /// Load generator.
    PLOAD_SERVICE = 4,
    /// Votes.
    VOTEQUORUM_SERVICE = 5,
    /// Resource monitor.
    MON_SERVICE = 6,
    /// Watchdog.
    WD_SERVICE = 7,
}
