//! Reading and writing fixed-width fields with every bound checked.
//!
//! The reader never panics and never trusts a count: whoever takes a list asks for its bytes
//! first and allocates after. The writer appends to a vector and cannot fail. Both know the byte
//! order, because on the ring every sender uses its own and receivers convert.

/// Byte order of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Order {
    /// The order of this machine.
    pub const NATIVE: Order = if cfg!(target_endian = "little") { Order::Little } else { Order::Big };
}

/// Why bytes could not be decoded. No state has changed; whoever sent the bytes is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Name of the field.
    pub field: &'static str,
    /// Where it starts, in bytes from the start of what was decoded.
    pub offset: u32,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The bytes end before it does.
    Short,
    /// Its value is not one of those allowed.
    Value,
    /// It counts more than the limit.
    TooMany,
    /// Bytes are left over behind it.
    Trailing,
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fault = match self.fault {
            Fault::Short => "is cut short",
            Fault::Value => "has a value that is not allowed",
            Fault::TooMany => "counts more than the limit",
            Fault::Trailing => "is followed by bytes that belong to nothing",
        };
        write!(f, "{} at byte {} {fault}", self.field, self.offset)
    }
}

impl std::error::Error for DecodeError {}

/// Reads fields one after another.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    order: Order,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8], order: Order) -> Reader<'a> {
        Reader { bytes, at: 0, order }
    }

    /// Bytes not read yet.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// An error about a field that starts here.
    pub fn error(&self, field: &'static str, fault: Fault) -> DecodeError {
        DecodeError { field, offset: u32::try_from(self.at).unwrap_or(u32::MAX), fault }
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let end = self.at.checked_add(len).filter(|end| *end <= self.bytes.len());
        let Some(end) = end else { return Err(self.error(field, Fault::Short)) };
        let bytes = &self.bytes[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N, field)?);
        Ok(out)
    }

    /// The next byte.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        Ok(self.array::<1>(field)?[0])
    }

    /// The next 16-bit number.
    pub fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        let bytes = self.array(field)?;
        Ok(if self.order == Order::Little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    /// The next 32-bit number.
    pub fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        let bytes = self.array(field)?;
        Ok(if self.order == Order::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    /// The next 64-bit number.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        let bytes = self.array(field)?;
        Ok(if self.order == Order::Little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
    }

    /// Steps over `len` bytes of no meaning.
    pub fn skip(&mut self, len: usize, field: &'static str) -> Result<(), DecodeError> {
        self.take(len, field).map(|_| ())
    }

    /// A 32-bit count of items of `size` bytes each that follow at once: checked against `limit`
    /// and against the bytes left, so that the caller may allocate.
    pub fn count(&mut self, size: usize, limit: usize, field: &'static str) -> Result<usize, DecodeError> {
        let start = self.clone();
        let count = self.u32(field)? as usize;
        if count > limit {
            return Err(start.error(field, Fault::TooMany));
        }
        if count.checked_mul(size).is_none_or(|bytes| bytes > self.left()) {
            return Err(start.error(field, Fault::Short));
        }
        Ok(count)
    }

    /// Demands that everything was read.
    pub fn finish(&self, field: &'static str) -> Result<(), DecodeError> {
        if self.left() == 0 {
            Ok(())
        } else {
            Err(self.error(field, Fault::Trailing))
        }
    }
}

/// Appends fields to a vector.
#[derive(Debug)]
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    order: Order,
}

impl<'a> Writer<'a> {
    /// Appends to `out`.
    pub fn new(out: &'a mut Vec<u8>, order: Order) -> Writer<'a> {
        Writer { out, order }
    }

    /// Appends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Appends one byte.
    pub fn u8(&mut self, value: u8) {
        self.out.push(value);
    }

    /// Appends a 16-bit number.
    pub fn u16(&mut self, value: u16) {
        let bytes = if self.order == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() };
        self.bytes(&bytes);
    }

    /// Appends a 32-bit number.
    pub fn u32(&mut self, value: u32) {
        let bytes = if self.order == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() };
        self.bytes(&bytes);
    }

    /// Appends a 64-bit number.
    pub fn u64(&mut self, value: u64) {
        let bytes = if self.order == Order::Little { value.to_le_bytes() } else { value.to_be_bytes() };
        self.bytes(&bytes);
    }

    /// Appends `len` zero bytes.
    pub fn zeros(&mut self, len: usize) {
        self.out.resize(self.out.len() + len, 0);
    }

    /// Appends the number of items of a list; a list longer than a 32-bit number can say does
    /// not fit into any message.
    pub fn count(&mut self, len: usize) {
        self.u32(u32::try_from(len).expect("lists of messages are bounded"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_round_trip() {
        for order in [Order::Little, Order::Big] {
            let mut out = Vec::new();
            let mut writer = Writer::new(&mut out, order);
            writer.u8(1);
            writer.u16(0x0203);
            writer.u32(0x0405_0607);
            writer.u64(0x0809_0a0b_0c0d_0e0f);
            let mut reader = Reader::new(&out, order);
            assert_eq!(reader.u8("a"), Ok(1));
            assert_eq!(reader.u16("b"), Ok(0x0203));
            assert_eq!(reader.u32("c"), Ok(0x0405_0607));
            assert_eq!(reader.u64("d"), Ok(0x0809_0a0b_0c0d_0e0f));
            assert_eq!(reader.finish("end"), Ok(()));
        }
    }

    #[test]
    fn counts_are_checked_before_use() {
        let mut out = Vec::new();
        Writer::new(&mut out, Order::Little).u32(3);
        out.resize(4 + 11, 0);
        let fault = |limit| Reader::new(&out, Order::Little).count(4, limit, "n").map_err(|error| error.fault);
        assert_eq!(fault(2), Err(Fault::TooMany));
        assert_eq!(fault(3), Err(Fault::Short));
        out.push(0);
        assert_eq!(Reader::new(&out, Order::Little).count(4, 3, "n"), Ok(3));
    }

    #[test]
    fn short_bytes_name_the_field() {
        let mut reader = Reader::new(&[1, 2, 3], Order::Big);
        assert_eq!(reader.u16("first"), Ok(0x0102));
        assert_eq!(reader.u32("second"), Err(DecodeError { field: "second", offset: 2, fault: Fault::Short }));
    }
}
