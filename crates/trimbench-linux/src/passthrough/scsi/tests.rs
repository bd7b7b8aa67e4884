//! Commands and sense data against the layouts of SAT-4.

use super::*;

const FULL: AtaCommand = AtaCommand {
    name: "test",
    command: 0xc0,
    protocol: AtaProtocol::PioOut,
    extended: true,
    features: 0x1112,
    count: 0x2122,
    lba: 0x3132_3334_3536,
    registers: true,
    timeout: Nanos::ZERO,
};

#[test]
fn sixteen_bytes_carry_each_half_in_its_place() {
    let expected = [
        0x85, 0x0b, 0x26, 0x11, 0x12, 0x21, 0x22, 0x33, 0x36, 0x32, 0x35, 0x31, 0x34, 0x40, 0xc0, 0,
    ];
    assert_eq!(FULL.sixteen(), expected);
}

#[test]
fn twelve_bytes_carry_28_bits_only() {
    assert_eq!(FULL.twelve(), None);
    let short = AtaCommand {
        extended: false,
        protocol: AtaProtocol::PioIn,
        registers: false,
        features: 0x12,
        count: 0x22,
        lba: 0x0034_3536,
        ..FULL
    };
    let expected = [0xa1, 0x08, 0x0e, 0x12, 0x22, 0x36, 0x35, 0x34, 0, 0xc0, 0, 0];
    assert_eq!(short.twelve(), Some(expected));
}

/// Descriptor format: an information descriptor first, then the registers.
fn descriptors(key: u8, extend: u8) -> Vec<u8> {
    let mut data = vec![0x72, key, 0x00, 0x1d, 0, 0, 0, 12 + 14];
    data.extend([0x00, 0x0a, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    data.extend([0x09, 0x0c, extend, 0x04, 0xc0, 0x01, 0x33, 0x36, 0x32, 0x35, 0x31, 0x34]);
    data.extend([0x40, 0x51]);
    data
}

#[test]
fn registers_are_found_among_descriptors() {
    let found = registers(&descriptors(1, 1)).unwrap();
    assert_eq!((found.status, found.error), (0x51, 0x04));
    assert_eq!(found.count, Some(0xc001));
    // Without the extend bit there is no upper half.
    assert_eq!(registers(&descriptors(1, 0)).unwrap().count, Some(0x01));
}

#[test]
fn cut_sense_data_hold_no_registers() {
    let whole = descriptors(1, 1);
    for length in 0..whole.len() {
        assert_eq!(registers(&whole[..length]), None, "{length} bytes");
    }
}

/// Fixed format with registers.
fn fixed(key: u8, code: [u8; 2], upper: u8) -> Vec<u8> {
    let [code, qualifier] = code;
    vec![
        0x70, 0, key, 0x04, 0x51, 0x40, 0x07, 10, upper, 0x36, 0x35, 0x34, code, qualifier, 0, 0,
        0, 0,
    ]
}

#[test]
fn fixed_format_says_when_it_holds_back() {
    let found = registers(&fixed(1, [0x00, 0x1d], 0)).unwrap();
    assert_eq!((found.status, found.error, found.count), (0x51, 0x04, Some(7)));
    assert_eq!(registers(&fixed(1, [0x00, 0x1d], 0x40)).unwrap().count, None);
}

#[test]
fn other_errors_in_fixed_format_are_no_registers() {
    // What the drive aborted shows its status register; a refusal before the drive does not.
    assert!(registers(&fixed(0xb, [0, 0], 0)).is_some());
    assert_eq!(registers(&fixed(0x5, [0x24, 0], 0)), None);
    let mut quiet = fixed(0xb, [0, 0], 0);
    quiet[4] = 0;
    assert_eq!(registers(&quiet), None);
}

#[test]
fn sense_is_read_from_both_formats() {
    let expected = Some(Sense::INVALID_OPCODE);
    assert_eq!(sense(&[0x72, 5, 0x20, 0, 0, 0, 0, 0]), expected);
    assert_eq!(sense(&fixed(5, [0x20, 0], 0)), expected);
    assert_eq!(sense(&[]), None);
    let text = "SCSI sense illegal request (20h/00h, invalid command operation code)";
    assert_eq!(Sense::INVALID_OPCODE.to_string(), text);
}
