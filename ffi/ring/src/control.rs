//! The words of the control page, named.

use std::sync::atomic::{AtomicU32, Ordering};

use evensong_core::ipc::offset;

use crate::memory::Memory;

/// One word of the control page.
#[derive(Debug)]
#[repr(transparent)]
pub struct Word(pub AtomicU32);

impl Word {
    /// Plain store, for words that a later release store publishes.
    pub fn store_relaxed(&self, value: u32) {
        self.0.store(value, Ordering::Relaxed);
    }
}

/// Named access to the words of a [`Memory`].
#[derive(Clone, Copy, Debug)]
pub struct Control<'a>(pub &'a Memory);

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident = $offset:ident;)*) => {
        impl<'a> Control<'a> {
            $($(#[$doc])* pub fn $name(self) -> &'a AtomicU32 { &self.0.word(offset::$offset).0 })*
        }
    };
}

words! {
    /// Request ring: where the client writes next.
    request_tail = REQUEST_TAIL;
    /// Request ring: where the daemon reads next.
    request_head = REQUEST_HEAD;
    /// Request ring: 1 while the daemon does not look at it.
    request_asleep = REQUEST_ASLEEP;
    /// Request ring: 1 while a client thread waits for room.
    request_room_wanted = REQUEST_ROOM_WANTED;
    /// Event ring: where the daemon writes next.
    event_tail = EVENT_TAIL;
    /// Event ring: where the client reads next.
    event_head = EVENT_HEAD;
    /// Event ring: 1 while the descriptor is quiet.
    event_armed = EVENT_ARMED;
    /// Event ring: 1 while the daemon waits for room.
    event_room_wanted = EVENT_ROOM_WANTED;
    /// Number of the request answered last.
    reply_seq = REPLY_SEQ;
    /// 1 while a client thread sleeps on the reply.
    reply_waiting = REPLY_WAITING;
    /// Number of the request begun last; for the client alone.
    call_seq = CALL_SEQ;
    /// 1 while senders of the group are held back.
    flow_state = FLOW_STATE;
    /// Processor on which the client last rang, plus one; a hint.
    client_cpu = CLIENT_CPU;
    /// 1 when the daemon closed the connection.
    closed = CLOSED;
}
