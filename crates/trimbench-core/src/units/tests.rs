use proptest::prelude::*;

use super::*;

#[test]
fn sizes_need_a_unit_and_are_exact() {
    for (text, bytes) in [
        ("128KiB", 131_072),
        ("128 KiB", 131_072),
        ("1.5GiB", 1_610_612_736),
        ("4GB", 4_000_000_000),
        ("0.5 KB", 500),
        ("0", 0),
        ("512B", 512),
        ("2PiB", 1 << 51),
        ("0.5PB", 500_000_000_000_000),
    ] {
        assert_eq!(text.parse::<Bytes>(), Ok(Bytes(bytes)), "{text}");
    }
    for text in ["", "GiB", "12", "4K", "4G", "0.3B", "-1GiB", "99999999TiB", "1..5GiB", "1e3B"] {
        assert!(text.parse::<Bytes>().is_err(), "{text}");
    }
}

#[test]
fn printed_sizes_are_never_rounded() {
    for (bytes, text) in [
        (0, "0B"),
        (512, "512B"),
        (131_072, "128KiB"),
        (4_000_000_000, "4GB"),
        (1 << 30, "1GiB"),
        ((1 << 30) + 1, "1073741825B"),
        (1 << 50, "1PiB"),
        (1_000_000_000_000, "1TB"),
        (3_000_000_000_000_000, "3PB"),
        (256_000_000_000_000, "256TB"),
    ] {
        assert_eq!(Bytes(bytes).to_string(), text);
    }
    assert_eq!(Nanos(1_500_000).to_string(), "1500us");
    assert_eq!(Ppm(73_700).to_string(), "7.37%");
}

proptest! {
    #[test]
    fn what_is_printed_parses_to_the_same(value in any::<u64>()) {
        prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
        prop_assert_eq!(Nanos(value).to_string().parse(), Ok(Nanos(value)));
    }
}

#[test]
fn ranges_are_never_empty_and_never_wrap() {
    assert!(LbaRange::new(Lba(0), Blocks(0)).is_none());
    assert!(LbaRange::new(Lba(u64::MAX), Blocks(1)).is_none());
    let range = LbaRange::new(Lba(u64::MAX - 1), Blocks(1)).unwrap();
    assert_eq!(range.end(), Lba(u64::MAX));
    assert!(LbaRange::from_bytes(Bytes(100), Bytes(512), BlockSize::SECTOR).is_none());
}

#[test]
fn scaling_rounds_down_and_saturates() {
    assert_eq!(Nanos(1_000).scaled(Ppm(333_333)), Nanos(333));
    assert_eq!(Nanos(u64::MAX).scaled(Ppm(2_000_000)), Nanos(u64::MAX));
    assert_eq!(Ppm(70_000).of(1_000_000_000_000), 70_000_000_000);
}
