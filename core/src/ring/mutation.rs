//! Rules of the protocol that can be switched off, one at a time, so that the simulator can show
//! that its checkers notice. Only with the feature `mutation`; otherwise the switch is the constant
//! "on" and costs nothing.

/// A rule that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Frames that the token asks for are sent again.
    RetransmitList,
    /// Missing frames are asked for.
    Asking,
    /// A node that lacks frames lowers the token's aru.
    LowerAru,
    /// Frames are let go, and safe messages delivered, only after two rotations confirm them.
    TwoRotations,
    /// Safe messages wait.
    SafeWait,
    /// Frames of the old ring are copied in recovery.
    RecoveryCopies,
    /// Recovery ends only when all were seen to have all, twice.
    InstallWait,
    /// Behind a gap of the old ring only senders that are still there count.
    TransitionalFilter,
    /// The number of a ring is stored before it is used.
    RingSeqStore,
    /// A ring needs everyone's agreement.
    Consensus,
    /// Copies of a token are recognized.
    TokenCopies,
    /// Frames of other rings are not stored.
    RingCheck,
    /// Parts of messages of nodes that left are forgotten.
    ForgetParts,
    /// The change of membership is worked off before messages of clients go out.
    HoldBack,
}

impl Mutation {
    /// All of them.
    pub const ALL: [Mutation; 14] = [
        Mutation::RetransmitList,
        Mutation::Asking,
        Mutation::LowerAru,
        Mutation::TwoRotations,
        Mutation::SafeWait,
        Mutation::RecoveryCopies,
        Mutation::InstallWait,
        Mutation::TransitionalFilter,
        Mutation::RingSeqStore,
        Mutation::Consensus,
        Mutation::TokenCopies,
        Mutation::RingCheck,
        Mutation::ForgetParts,
        Mutation::HoldBack,
    ];
}

/// Which rule is off.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Switch {
    #[cfg(feature = "mutation")]
    off: Option<Mutation>,
}

impl Switch {
    /// Whether the rule holds.
    #[cfg(feature = "mutation")]
    pub fn on(self, rule: Mutation) -> bool {
        self.off != Some(rule)
    }

    /// Whether the rule holds: always.
    #[cfg(not(feature = "mutation"))]
    #[inline]
    pub fn on(self, _rule: Mutation) -> bool {
        true
    }

    /// Switches a rule off.
    #[cfg(feature = "mutation")]
    pub fn switch_off(&mut self, rule: Mutation) {
        self.off = Some(rule);
    }
}
