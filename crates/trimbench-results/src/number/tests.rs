use super::*;

fn with(value: f64, low: f64, high: f64, unit: &str) -> String {
    ShownFigure::of(value, Some((low, high)), unit).text()
}

#[test]
fn three_digits_are_kept_and_no_digit_before_the_point_is_lost() {
    let table = [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (15.0, "15"),
        (123_456.0, "123,456"),
        (0.123_456, "0.123"),
        (1.234_5, "1.23"),
        (9.999, "10.0"),
        (99.96, "100"),
        (1_234.56, "1,235"),
        (-0.045_67, "-0.0457"),
        (0.000_012_34, "0.000012"),
        (6.9e-18, "< 0.000001"),
        (-6.9e-18, "> -0.000001"),
        (1_234_567_890.4, "1,234,567,890"),
        (1.234e15, "1.23e15"),
        (f64::NAN, "not a number"),
    ];
    for (value, expected) in table {
        assert_eq!(significant(value), expected, "{value:e}");
    }
}

#[test]
fn times_and_sizes_take_the_unit_that_suits_them() {
    let table = [
        (1_500_000.0, "ns", "1.50 ms"),
        (999_960.0, "ns", "1.00 ms"),
        (0.000_25, "s", "250 us"),
        (12_000.0, "ms", "12 s"),
        (0.4, "ns", "< 1 ns"),
        (6.9e-18, "s", "< 1 ns"),
        (1.5e-9, "s", "2 ns"),
        (0.0, "ms", "0 ms"),
        (-2_500.0, "us", "-2.50 ms"),
        (1_073_741_824.0, "bytes", "1.07 GB"),
        (12.0, "B", "12 B"),
        (0.5, "GB", "500 MB"),
        (210_930_470.0, "B/s", "211 MB/s"),
        (33_554.432, "GB/s", "33,554 GB/s"),
        (1_146.6, "MB/s", "1,147 MB/s"),
        (1_000.0, "IOPS", "1,000 IOPS"),
        (3.0, "", "3"),
        (0.000_5, "x-y/z", "0.000500 x-y/z"),
    ];
    for (value, unit, expected) in table {
        assert_eq!(quantity(value, unit), expected, "{value} {unit}");
    }
}

/// One number is shown in one way: it was 0.000, 0.000313 and 0.313 ms/GB.
#[test]
fn a_time_for_something_else_keeps_its_unit_and_ends_at_a_thousandth() {
    let table = [
        (0.0, "s/GB", "0.000 s/GB"),
        (-0.0, "s/GB", "0.000 s/GB"),
        (0.000_313, "s/GB", "< 0.001 s/GB"),
        (-0.000_313, "s/GB", "> -0.001 s/GB"),
        (0.000_529, "s/GB", "0.001 s/GB"),
        (0.25, "s/GB", "0.250 s/GB"),
        (14.9, "s/GB", "14.9 s/GB"),
        (-0.012_34, "s/GB", "-0.012 s/GB"),
        (-0.002_12, "s/GB^2", "-0.002 s/GB^2"),
        (0.11, "request-s", "0.110 request-s"),
    ];
    for (value, unit, expected) in table {
        assert_eq!(quantity(value, unit), expected, "{value} {unit}");
    }
    assert_eq!(with(0.000_313, -0.001_1, 0.001_7, "s/GB"), "0.000 s/GB (-0.001 to 0.002)");
    assert_eq!(with(-5e-7, -1.2e-5, 1.3e-5, "s/GB"), "0.000 s/GB");
}

#[test]
fn an_interval_decides_the_digits_of_all_three() {
    let table = [
        (0.868, 0.649, 1.125, "s/GB", "0.87 s/GB (0.65 to 1.13)"),
        (0.014_143, 0.012_82, 0.015_794, "s/GB", "0.014 s/GB (0.013 to 0.016)"),
        (0.823_954, 0.819_607, 0.827_671, "s", "824 ms (820 to 828)"),
        (23.248_6, 22.951_2, 23.547_4, "%", "23.2 % (23.0 to 23.5)"),
        (0.187_59, -0.245_21, 0.621_38, "%", "0.19 % (-0.25 to 0.62)"),
        (95_748.9, 94_913.2, 96_402.7, "IOPS", "95,750 IOPS (94,910 to 96,400)"),
        (9.95e-7, -2.9e-6, 4.76e-6, "s", "1.0 us (-2.9 to 4.8)"),
        (1.031_25, 1.031_25, 1.031_25, "ms", "1.03 ms"),
        (1_000.0, 500.0, 1_500.0, "IOPS", "1,000 IOPS (500 to 1,500)"),
        (0.0, -3.0, 3.0, "ms", "0.0 ms (-3.0 to 3.0)"),
        (1e-5, -1.0, 1.0, "", "0.0 (-1.0 to 1.0)"),
    ];
    for (value, low, high, unit, expected) in table {
        assert_eq!(with(value, low, high, unit), expected, "{value} {unit}");
    }
}

#[test]
fn a_large_change_is_a_number_of_times() {
    assert_eq!(quantity(999.4, "%"), "999 %");
    assert_eq!(quantity(79_744.0, "%"), "798 times");
    assert_eq!(with(1_369.0, 1_247.0, 1_502.0, "%"), "14.7 times (13.5 to 16.0)");
    let table = [
        (1.0, "0 %"),
        (1.123_4, "+12.3 %"),
        (0.95, "-5 %"),
        (798.44, "798 times"),
        (0.012, "-98.8 %"),
        (0.001_25, "1/800"),
        (0.0, "-100 %"),
    ];
    for (ratio, expected) in table {
        assert_eq!(change(ratio), expected, "{ratio}");
    }
}

#[test]
fn at_most_rounds_up() {
    let table = [
        (0.0, "s/GB", "0.000 s/GB"),
        (0.001, "s/GB", "0.001 s/GB"),
        (0.000_01, "s/GB", "0.001 s/GB"),
        (0.001_01, "s/GB", "0.002 s/GB"),
        (1.231, "s/GB", "1.24 s/GB"),
        (0.123_41, "s", "124 ms"),
        (0.123, "s", "123 ms"),
    ];
    for (value, unit, expected) in table {
        assert_eq!(at_most(value, unit), expected, "{value} {unit}");
    }
}

#[test]
fn counts_have_commas_and_what_prints_as_nothing_is_zero() {
    let table = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
    for (number, expected) in table {
        assert_eq!(count(number), expected);
    }
    let is_zero = |value: f64| ShownFigure::of(value, None, "s/GB").is_zero();
    assert!(is_zero(0.0) && is_zero(0.000_3) && is_zero(-0.000_3));
    assert!(!is_zero(0.001) && !is_zero(-0.25));
    assert!(ShownFigure::of(0.01, Some((-1.0, 1.0)), "").is_zero());
}
