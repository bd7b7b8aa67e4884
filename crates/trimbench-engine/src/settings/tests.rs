use trimbench_core::{Clock, DrainRule, Support};

use super::*;

#[test]
fn a_span_is_all_or_what_there_is_of_it() {
    let span = |text| span_or_all().read(text).unwrap();
    let on = |text, bytes| span(text).on(Bytes(bytes), BlockSize::SECTOR).0;
    assert_eq!(on("all", 10_000_512), 9_998_336, "whole units of 4 KiB");
    assert_eq!(on("2MiB", 10_000_512), 2 << 20);
    assert_eq!(on("1TiB", 10_000_512), 9_998_336);
    let large = BlockSize::new(Bytes(65_536)).unwrap();
    assert_eq!(span("all").on(Bytes(10_000_512), large).0, 9_961_472);
    assert_eq!(span("2MiB").caveat(Bytes::mib(3)), Some(Caveat::PartOfDrive));
    assert_eq!(span("2MiB").caveat(Bytes::mib(2)), None);
    assert_eq!(span("all").caveat(Bytes::mib(2)), None);
    assert_eq!(span("16GiB").emulated_capacity(), Some(Bytes::gib(16)));
    assert_eq!(span("1GiB").emulated_capacity(), None, "too few superblocks");
    assert_eq!(span("all").emulated_capacity(), None);
    span_or_all().read("some").unwrap_err();
    span_or_all().read("4KiB").unwrap_err();
}

#[test]
fn data_is_random_or_compressible_by_whole_percents() {
    let read = |text| data_kind().read(text);
    assert_eq!(read("random"), Ok(Data::Random));
    assert_eq!(read("compressible-25%"), Ok(Data::Compressible(25)));
    assert_eq!(read("compressible-0"), Ok(Data::Compressible(0)));
    for wrong in
        ["zeroes", "compressible", "compressible-25", "compressible-101%", "compressible-0.5%"]
    {
        assert!(read(wrong).unwrap_err().to_string().contains("for example"), "{wrong}");
    }
}

#[test]
fn accesses_are_whole_units() {
    let read = |text| access_size(Bytes::mib(1)).read(text);
    assert_eq!(read("128KiB"), Ok(Bytes(131_072)));
    read("5000B").unwrap_err();
    read("2MiB").unwrap_err();
}

#[test]
fn what_does_not_fit_says_why() {
    let device = |capacity, block| Capabilities {
        clock: Clock::Wall,
        medium: Medium::Device { capacity, logical_block: BlockSize::new(Bytes(block)).unwrap() },
        discard: Support::Native,
        discard_max: Bytes::mib(1),
        discard_granularity: Bytes(512),
        queue_depth: 32,
        drain: DrainRule::IMMEDIATE,
    };
    let fits = |capabilities| fits(&capabilities, Bytes::mib(16), &[Bytes(131_072), Bytes(4_096)]);
    assert_eq!(fits(device(Bytes::mib(16), 4_096)), Ok(()));
    assert!(
        fits(device(Bytes::mib(15), 512)).unwrap_err().to_string().contains("the device has 15MiB")
    );
    assert!(
        fits(device(Bytes::mib(16), 8_192)).unwrap_err().to_string().contains("4KiB are not whole")
    );
    let medium = Medium::Directory { available: Bytes::gib(1), fs_block: Bytes(4_096) };
    let directory = Capabilities { medium, ..device(Bytes(0), 512) };
    assert_eq!(fits(directory).unwrap_err(), NEEDS_A_DEVICE.into());
}
