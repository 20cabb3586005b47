//! The core's own configuration: checked values, no text. The daemon's reader fills it.

use crate::ids::NodeId;

/// Configuration of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeConfig {
    /// This node's id.
    pub node: NodeId,
    /// Name of the cluster.
    pub cluster_name: String,
    /// All nodes that are configured, sorted; this node among them.
    pub nodes: Vec<NodeId>,
    /// Sequence number of the last ring that this node was in (0: none).
    pub last_ring_seq: u64,
    /// Bytes of a datagram's payload on the wire, headers of IP and UDP taken off.
    pub frame_size: u32,
    /// Whether `safe` is honoured; false treats it as agreed, as the original does.
    pub honour_safe: bool,
    /// Build frames although no peer needs them: packing, fragmenting and reassembly then
    /// run on a ring of one too (tests, simulator).
    pub always_frame: bool,
}
