//! Reads the captured frames and what is written beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A value in an annotation or out of a decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Number(u64),
    Ring(u32, u64),
    /// Text; of long texts the first 24 bytes.
    Text(String),
    List(Vec<u64>),
}

/// One field of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub offset: usize,
    pub size: usize,
    pub field: String,
    pub value: Value,
}

/// A frame and its annotation.
#[derive(Debug, Default)]
pub struct Golden {
    pub name: String,
    pub bytes: Vec<u8>,
    /// Fields of the frame and of the whole messages in it, without those in `garbage` and
    /// those of services that this build does not decode.
    pub fields: Vec<Line>,
    /// The same for the message that ends in this frame and began in an earlier one.
    pub joined: Vec<Line>,
    /// Bytes of the frame that are compared, and those of the joined message.
    pub covered: Vec<bool>,
    pub joined_covered: Vec<bool>,
}

/// What the original leaves to chance.
fn is_garbage(field: &str) -> bool {
    ["(padding)", "source.conn"].contains(&field) || field.ends_with("header.target_nodeid")
}

/// All captured frames by name.
pub fn all() -> BTreeMap<String, Golden> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frames");
    let mut out = BTreeMap::new();
    for entry in fs::read_dir(&folder).expect("the captured frames are there") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|extension| extension != "hex") {
            continue;
        }
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let hex = fs::read_to_string(&path).expect("readable");
        let text = fs::read_to_string(path.with_extension("txt")).expect("an annotation beside each frame");
        out.insert(name.clone(), Golden::parse(name, &hex, &text));
    }
    out
}

impl Golden {
    fn parse(name: String, hex: &str, text: &str) -> Golden {
        let digits = hex.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
        let bytes: Vec<u8> = digits.map(|byte| u8::from_str_radix(byte, 16).expect("hex")).collect();
        let mut golden = Golden { name, covered: vec![false; bytes.len()], bytes, ..Golden::default() };
        let mut place = Place::default();
        for line in text.lines().skip(2) {
            golden.line(line, &mut place);
        }
        // a field of a message that goes on in the next frame
        golden.covered.truncate(golden.bytes.len());
        golden
    }

    fn line(&mut self, line: &str, place: &mut Place) {
        let mut words = line.trim_start().splitn(2, ' ');
        let Some(offset) = words.next().and_then(|word| word.parse::<usize>().ok()) else {
            place.joined |= line.contains("-- reassembled");
            place.skip &= !place.joined;
            return;
        };
        let mut words = words.next().expect("a width").trim_start().splitn(2, ' ');
        let size: usize = words.next().and_then(|word| word.parse().ok()).expect("a width");
        let rest = words.next().expect("a field").trim();
        if rest.starts_with("--") {
            *place = Place { skip: !rest.ends_with("complete message"), ..Place::default() };
            return;
        }
        let (field, value) = rest.split_once(" =").expect("a field and its value");
        let field = field.trim_start_matches("asm ").trim();
        let covered = if place.joined { &mut self.joined_covered } else { &mut self.covered };
        if covered.len() < offset + size {
            covered.resize(offset + size, false);
        }
        covered[offset..offset + size].fill(!is_garbage(field));
        if place.skip || is_garbage(field) || place.unknown && field != "header.size" {
            return;
        }
        let value = Value::parse(field, value.trim());
        if field == "header.id" {
            let Value::Number(id) = value else { panic!("an id is a number") };
            place.unknown = ![0, 2].contains(&(id >> 16));
        }
        let line = Line { offset, size, field: field.to_owned(), value };
        if place.joined { &mut self.joined } else { &mut self.fields }.push(line);
    }
}

/// Where in an annotation we are.
#[derive(Default)]
struct Place {
    /// In a message put together from several frames.
    joined: bool,
    /// In a message that is not whole in this frame.
    skip: bool,
    /// In a message of a service that this build does not decode.
    unknown: bool,
}

impl Value {
    fn parse(field: &str, text: &str) -> Value {
        if let Some(quoted) = text.strip_prefix('\'') {
            let end = quoted.find('\'').expect("the text ends");
            return Value::Text(quoted[..end].to_owned());
        }
        if let Some(list) = text.strip_prefix('[') {
            let list = &list[..list.find(']').expect("the list ends")];
            let numbers = list.split(',').map(str::trim).filter(|number| !number.is_empty());
            return Value::List(numbers.map(|number| number.parse().expect("a number")).collect());
        }
        if field.starts_with("item[") && field.ends_with("].value") {
            let bytes = text.split_whitespace().take(8).enumerate();
            let byte = |byte| u64::from_str_radix(byte, 16).expect("bytes in hex");
            let number = bytes.map(|(place, digits)| byte(digits) << (8 * place)).sum();
            return Value::Number(number);
        }
        let word = text.split_whitespace().next().expect("a value");
        if let Some((rep, seq)) = word.split_once(':') {
            return Value::Ring(rep.parse().expect("a node"), seq.parse().expect("a number"));
        }
        Value::Number(match word.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).expect("a number"),
            None => word.parse().expect("a number"),
        })
    }
}
