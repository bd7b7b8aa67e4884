//! Numbers as text, without the machinery of formatting.

/// Puts a number behind `text`.
pub(crate) fn decimal(text: &mut Vec<u8>, number: u64) {
    padded(text, number, 1, b'0');
}

/// Puts a number behind `text`, at least so wide, filled up in front.
pub(crate) fn padded(text: &mut Vec<u8>, number: u64, width: usize, filler: u8) {
    // 2^64 has 20 digits.
    let mut digits = [filler; 20];
    let mut first = digits.len();
    let mut left = number;
    while left > 0 || first == digits.len() {
        first -= 1;
        let digit = u8::try_from(left % 10).expect("a digit is below 10");
        digits[first] = b'0' + digit;
        left /= 10;
    }
    text.extend_from_slice(&digits[first.min(digits.len() - width)..]);
}
