//! The generated headers, read back by bindgen as a C compiler would read them: each struct has
//! the size, alignment and offsets of the Rust type it was generated from, each constant its
//! value. The same is asked of the original's headers where they are installed, which is what
//! programs are compiled with.

use std::collections::BTreeMap;
use std::mem::{align_of, offset_of, size_of};
use std::path::Path;

use c_tests::{original, stage};

#[allow(dead_code, non_camel_case_types)]
#[path = "../../ffi/cpg4/src/types.rs"]
mod cpg;
#[allow(dead_code, non_camel_case_types)]
#[path = "../../ffi/evs4/src/types.rs"]
mod evs;

use evensong_types::{corodefs, corotypes};

/// `Size of X`, `Alignment of X`, `Offset of field: X::y`, and `const X`, to numbers.
type Facts = BTreeMap<String, i64>;

macro_rules! structs {
    ($facts:ident: $($module:ident::$name:ident { $($field:ident),* })*) => {$(
        $facts.insert(format!("Size of {}", stringify!($name)), size_of::<$module::$name>() as i64);
        $facts.insert(format!("Alignment of {}", stringify!($name)), align_of::<$module::$name>() as i64);
        $($facts.insert(
            format!("Offset of field: {}::{}", stringify!($name), stringify!($field)),
            offset_of!($module::$name, $field) as i64,
        );)*
    )*};
}

macro_rules! enums {
    ($facts:ident: $($module:ident::$name:ident { $($value:ident),* })*) => {$($(
        $facts.insert(concat!("const ", stringify!($value)).to_owned(), $module::$name::$value as i64);
    )*)*};
}

macro_rules! constants {
    ($facts:ident: $($module:ident::$name:ident)*) => {$(
        $facts.insert(concat!("const ", stringify!($name)).to_owned(), $module::$name as i64);
    )*};
}

/// What the Rust types say.
fn ours() -> Facts {
    let mut facts = Facts::new();
    structs! { facts:
        corotypes::cs_name_t { length, value }
        corotypes::cs_version_t { releaseCode, majorVersion, minorVersion }
        cpg::cpg_address { nodeid, pid, reason }
        cpg::cpg_name { length, value }
        cpg::cpg_iteration_description_t { group, nodeid, pid }
        cpg::cpg_ring_id { nodeid, seq }
        cpg::cpg_callbacks_t { cpg_deliver_fn, cpg_confchg_fn }
        cpg::cpg_model_data_t { model }
        cpg::cpg_model_v1_data_t { model, cpg_deliver_fn, cpg_confchg_fn, cpg_totem_confchg_fn, flags }
        evs::evs_group { key }
        evs::evs_ring_id { nodeid, seq }
        evs::evs_callbacks_t { evs_deliver_fn, evs_confchg_fn }
    }
    enums! { facts:
        corotypes::cs_dispatch_flags_t {
            CS_DISPATCH_ONE, CS_DISPATCH_ALL, CS_DISPATCH_BLOCKING, CS_DISPATCH_ONE_NONBLOCKING
        }
        corotypes::cs_error_t {
            CS_OK, CS_ERR_LIBRARY, CS_ERR_VERSION, CS_ERR_INIT, CS_ERR_TIMEOUT, CS_ERR_TRY_AGAIN,
            CS_ERR_INVALID_PARAM, CS_ERR_NO_MEMORY, CS_ERR_BAD_HANDLE, CS_ERR_BUSY, CS_ERR_ACCESS,
            CS_ERR_NOT_EXIST, CS_ERR_NAME_TOO_LONG, CS_ERR_EXIST, CS_ERR_NO_SPACE, CS_ERR_INTERRUPT,
            CS_ERR_NAME_NOT_FOUND, CS_ERR_NO_RESOURCES, CS_ERR_NOT_SUPPORTED, CS_ERR_BAD_OPERATION,
            CS_ERR_FAILED_OPERATION, CS_ERR_MESSAGE_ERROR, CS_ERR_QUEUE_FULL, CS_ERR_QUEUE_NOT_AVAILABLE,
            CS_ERR_BAD_FLAGS, CS_ERR_TOO_BIG, CS_ERR_NO_SECTIONS, CS_ERR_CONTEXT_NOT_FOUND,
            CS_ERR_TOO_MANY_GROUPS, CS_ERR_SECURITY
        }
        corodefs::corosync_service_types {
            CMAP_SERVICE, CFG_SERVICE, CPG_SERVICE, QUORUM_SERVICE, PLOAD_SERVICE, VOTEQUORUM_SERVICE,
            MON_SERVICE, WD_SERVICE
        }
        cpg::cpg_guarantee_t { CPG_TYPE_UNORDERED, CPG_TYPE_FIFO, CPG_TYPE_AGREED, CPG_TYPE_SAFE }
        cpg::cpg_flow_control_state_t { CPG_FLOW_CONTROL_DISABLED, CPG_FLOW_CONTROL_ENABLED }
        cpg::cpg_reason_t {
            CPG_REASON_UNDEFINED, CPG_REASON_JOIN, CPG_REASON_LEAVE, CPG_REASON_NODEDOWN, CPG_REASON_NODEUP,
            CPG_REASON_PROCDOWN
        }
        cpg::cpg_iteration_type_t { CPG_ITERATION_NAME_ONLY, CPG_ITERATION_ONE_GROUP, CPG_ITERATION_ALL }
        cpg::cpg_model_t { CPG_MODEL_V1 }
        evs::evs_guarantee_t { EVS_TYPE_UNORDERED, EVS_TYPE_FIFO, EVS_TYPE_AGREED, EVS_TYPE_SAFE }
    }
    constants! { facts:
        corotypes::CS_MAX_NAME_LENGTH
        corotypes::CS_TRACK_CURRENT
        corotypes::CS_TRACK_CHANGES
        corotypes::CS_TRACK_CHANGES_ONLY
        cpg::CPG_MAX_NAME_LENGTH
        cpg::CPG_MEMBERS_MAX
        cpg::CPG_MODEL_V1_DELIVER_INITIAL_TOTEM_CONF
    }
    facts
}

/// What a C compiler makes of the headers of a folder.
fn read_back(include: Option<&Path>, names: &[&str]) -> Facts {
    let text: String = names.iter().map(|name| format!("#include <corosync/{name}>\n")).collect();
    let mut builder = bindgen::builder()
        .header_contents("all.h", &text)
        .allowlist_item("(CS_|cs_|CPG_|cpg_|EVS_|evs_|[A-Z]+_SERVICE|corosync_service).*")
        .blocklist_type("iovec")
        .layout_tests(true)
        .prepend_enum_name(false)
        .derive_debug(false)
        .formatter(bindgen::Formatter::None);
    if let Some(include) = include {
        builder = builder.clang_arg("-I").clang_arg(include.display().to_string());
    }
    facts(&builder.generate().expect("libclang reads the headers").to_string())
}

/// The facts in bindgen's text: it states layouts as `["Size of x"][ ... - 12usize]`, constants
/// as `pub const X : t = 12;`.
fn facts(text: &str) -> Facts {
    let mut facts = Facts::new();
    for part in text.split("[\"").skip(1) {
        let Some((what, rest)) = part.split_once("\"]") else { continue };
        let Some((_, number)) = rest.split_once("- ") else { continue };
        let number = number.split("usize").next().and_then(|digits| digits.trim().parse().ok());
        facts.extend(number.map(|number| (what.to_owned(), number)));
    }
    for part in text.split("pub const ").skip(1) {
        let Some((name, rest)) = part.split_once(':') else { continue };
        let Some(value) = rest.split(';').next().and_then(|item| item.split_once('=')) else { continue };
        let number = value.1.trim().parse();
        facts.extend(number.ok().map(|number| (format!("const {}", name.trim()), number)));
    }
    facts
}

/// Names that have no Rust type: they are literal text of the headers.
fn is_literal(name: &str) -> bool {
    name.starts_with("const CS_TIME_") || ["const CS_FALSE", "const CS_IPC_TIMEOUT_MS"].contains(&name)
}

#[test]
fn our_headers_are_as_our_types() {
    let read = read_back(Some(&stage::include()), &["corotypes.h", "corodefs.h", "cpg.h", "evs.h"]);
    let ours = ours();
    for (name, value) in &ours {
        assert_eq!(read.get(name), Some(value), "{name}");
    }
    for name in read.keys().filter(|name| !is_literal(name)) {
        assert!(ours.contains_key(name), "{name} is in no list of this test");
    }
}

#[test]
fn the_original_s_headers_are_as_our_types() {
    if !Path::new("/usr/include/corosync/cpg.h").exists() {
        return original::not_here("the original's headers are not installed");
    }
    let (theirs, ours) = (read_back(None, &["corotypes.h", "corodefs.h", "cpg.h"]), ours());
    let mut compared = 0;
    for (name, value) in theirs.iter().filter(|(name, _)| !is_literal(name)) {
        if let Some(own) = ours.get(name) {
            assert_eq!(own, value, "{name}");
            compared += 1;
        } else {
            panic!("{name} = {value} is missing in ours");
        }
    }
    assert!(compared > 60, "only {compared} facts");
}
