//! Fields of the little-endian images that drives answer with.
//!
//! Images have the fixed sizes that their commands ask for, so an offset beyond the end is a
//! mistake here, and panics.

pub(super) fn le16(image: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([image[at], image[at + 1]])
}

pub(super) fn le32(image: &[u8], at: usize) -> u32 {
    u32::from(le16(image, at)) | u32::from(le16(image, at + 2)) << 16
}

pub(super) fn le64(image: &[u8], at: usize) -> u64 {
    u64::from(le32(image, at)) | u64::from(le32(image, at + 4)) << 32
}

/// Text padded with spaces or zeroes; what is not printable ASCII becomes `?`.
pub(super) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let printable = |byte: &u8| {
        let byte = char::from(*byte);
        if byte.is_ascii_graphic() || byte == ' ' { byte } else { '?' }
    };
    bytes[..end].iter().map(printable).collect::<String>().trim().to_owned()
}

/// `N` bytes at byte `at`, `None` if all are zero: identifiers that a drive does not have.
pub(super) fn identifier<const N: usize>(image: &[u8], at: usize) -> Option<[u8; N]> {
    let bytes: [u8; N] = image[at..at + N].try_into().expect("the slice has N bytes");
    bytes.iter().any(|&byte| byte != 0).then_some(bytes)
}
