use super::*;

#[test]
fn sizes_are_shown_as_fstrim_shows_them() {
    let check = |bytes: u64, text: &str| assert_eq!(size(Bytes(bytes)), text);
    check(0, "0 B");
    check(1_023, "1023 B");
    check(1_024, "1 KiB");
    check(1_610_612_736, "1.5 GiB");
    // Never `1024 MiB`.
    check((1 << 30) - 1, "1 GiB");
}

#[test]
fn times_have_the_digits_that_matter() {
    assert_eq!(milliseconds(Nanos(1_234_567)), "1.23 ms");
    assert_eq!(milliseconds(Nanos(82_400_000)), "82.4 ms");
    assert_eq!(span(Nanos::from_millis(2_670)), "2.7 s");
    assert_eq!(span(Nanos::from_secs(3_000)), "50 min");
}
