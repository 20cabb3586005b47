//! Inputs and outputs in words, for traces.

use evensong_core::input::{Input, Payload};
use evensong_core::output::Output;

use crate::payload::Content;

/// A frame in words.
pub fn frame(bytes: &[u8]) -> String {
    let number = |at: usize| {
        bytes.get(at..at + 4).map_or(0, |field| u32::from_ne_bytes([field[0], field[1], field[2], field[3]]))
    };
    let ring = |at: usize| format!("{}:{}", number(at), number(at + 4));
    let list = |at: usize, count: u32| (0..count.min(400) as usize).map(|n| number(at + 4 * n)).collect::<Vec<_>>();
    let length = bytes.len();
    match bytes.get(3) {
        Some(0) => format!(
            "token of {}, hop {}, seq {}, aru {} by {}, retransmit {}, {} wanted",
            ring(29),
            number(17),
            number(13),
            number(21) as i32,
            number(25),
            number(49),
            number(53)
        ),
        Some(1) => {
            let copy = if bytes.get(4) == Some(&1) { " (copy)" } else { "" };
            let chain = bytes.get(49..51).map_or(String::new(), |chain| match chain {
                [0, 0] => String::new(),
                [goes_on, comes_from] => format!(", chain {comes_from} to {goes_on}"),
                _ => String::new(),
            });
            format!("mcast{copy} {} of {} from {}, {length} bytes{chain}", number(17), ring(25), number(13))
        }
        Some(2) => format!("merge detect from {}, ring {}", number(13), ring(17)),
        Some(3) => {
            let (members, failed) = (number(17), number(21));
            format!(
                "join from {} (header {}), ring number {}, {:?} failed {:?}",
                number(13),
                number(5),
                number(25),
                list(33, members),
                list(33 + 4 * members.min(400) as usize, failed)
            )
        }
        Some(4) => {
            format!("commit token of {}, hop {}, entry {} of {}", ring(17), number(13), number(33), number(37))
        }
        Some(5) => format!("hold cancel for {}", ring(13)),
        _ => format!("{length} bytes of noise"),
    }
}

/// An input in words.
pub fn input(input: &Input) -> String {
    match input {
        Input::Packet { bytes, .. } => format!("<- {}", frame(bytes)),
        Input::Request { client, request } => {
            let text = format!("{request:?}");
            let short: String = text.chars().take(60).collect();
            format!("client {} {short}", client.0)
        }
        other => format!("{other:?}"),
    }
}

/// An output in words, if it is worth a line; `bytes` knows those of a message.
pub fn output<'a>(output: &Output, bytes: impl Fn(Payload) -> &'a [u8]) -> Option<String> {
    let message = |payload: Payload| {
        let bytes = bytes(payload);
        let number = Content::number(bytes).map_or_else(|| format!("{bytes:?}"), |number| number.to_string());
        format!("{number} ({} bytes)", bytes.len())
    };
    Some(match output {
        Output::Send { to, frame: bytes, .. } => format!("to {}: {}", to.0, frame(bytes)),
        Output::CpgDeliver { to, node, pid, payload } => {
            format!("client {}: cpg message {} of {}.{pid}", to.0, message(*payload), node.0)
        }
        Output::CpgPartialDeliver { to, node, pid, payload, .. } => {
            format!("client {}: piece {} of {}.{pid}", to.0, message(*payload), node.0)
        }
        Output::EvsDeliver { to, node, payload } => {
            format!("client {}: evs message {} of {}", to.0, message(*payload), node.0)
        }
        Output::Log(event) => format!("log {}: {}", event.subsystem, event.text),
        Output::CpgConfchg { to, change } => {
            let list = |members: &[evensong_core::output::CpgMember]| {
                members
                    .iter()
                    .map(|member| format!("{}.{}/{}", member.node.0, member.pid, member.reason))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            format!(
                "client {}: group of [{}] left [{}] joined [{}]",
                to.0,
                list(&change.members),
                list(&change.left),
                list(&change.joined)
            )
        }
        other => format!("{other:?}"),
    })
}
