use super::*;

#[test]
fn numbers_have_three_digits_and_a_unit() {
    let times = [(0, "0 ns"), (1_500, "1.5 us"), (20_400_000, "20.4 ms"), (60_012_345_678, "60 s")];
    for (nanos, expected) in times {
        assert_eq!(time(nanos), expected);
    }
    for (bytes, expected) in [(0, "0 B"), (4_096, "4 KiB"), (13_414 << 20, "13.1 GiB")] {
        assert_eq!(size(bytes), expected);
    }
    for (ratio, expected) in [(0.0, "0 %"), (0.0024, "0.2 %"), (0.956, "96 %")] {
        assert_eq!(percent(ratio), expected);
    }
}
