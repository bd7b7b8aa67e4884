use super::*;

#[test]
fn three_digits_are_kept_and_no_digit_before_the_point_is_lost() {
    let table = [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (15.0, "15"),
        (123_456.0, "123456"),
        (0.123_456, "0.123"),
        (1.234_5, "1.23"),
        (9.999, "10.0"),
        (99.96, "100"),
        (1_234.56, "1235"),
        (-0.045_67, "-0.0457"),
        (0.000_012_34, "0.0000123"),
        (0.000_001_234, "1.23e-6"),
        (1.234e12, "1.23e12"),
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
        (0.4, "ns", "0.400 ns"),
        (0.0, "ms", "0 ms"),
        (-2_500.0, "us", "-2.50 ms"),
        (1_073_741_824.0, "bytes", "1.07 GB"),
        (12.0, "B", "12 B"),
        (0.5, "GB", "500 MB"),
        (1_000.0, "IOPS", "1000 IOPS"),
        (3.0, "", "3"),
    ];
    for (value, unit, expected) in table {
        assert_eq!(quantity(value, unit), expected, "{value} {unit}");
    }
}

#[test]
fn times_within_a_compound_unit_are_scaled_too() {
    let table = [
        (0.0, "s/GB", "0 s/GB"),
        (0.25, "s/GB", "0.250 s/GB"),
        (14.9, "s/GB", "14.9 s/GB"),
        (0.000_043_8, "s/GB", "43.8 us/GB"),
        (-0.012_34, "s/GB", "-12.3 ms/GB"),
        (-0.002_12, "s/GB^2", "-2.12 ms/GB^2"),
        (0.11, "request-s", "0.110 request-s"),
        (0.000_11, "request-s", "0.110 request-ms"),
        (0.5, "GB/s", "0.500 GB/s"),
        (0.000_5, "x-y/z", "0.000500 x-y/z"),
    ];
    for (value, unit, expected) in table {
        assert_eq!(quantity(value, unit), expected, "{value} {unit}");
    }
}

#[test]
fn seconds_per_gigabyte_in_headlines_have_three_decimals_as_s1_prints_them() {
    let table = [
        (0.0, "0.000"),
        (-0.0, "0.000"),
        (-0.000_4, "0.000"),
        (0.000_043_8, "0.000"),
        (0.000_529, "0.001"),
        (-0.012_34, "-0.012"),
        (14.9, "14.900"),
    ];
    for (value, expected) in table {
        let scale = UnitScale::for_headlines(&[value], "s/GB");
        assert_eq!((scale.print_headline(value).as_str(), scale.unit.as_str()), (expected, "s/GB"));
    }
    let times = UnitScale::for_headlines(&[0.000_5, 0.02], "s");
    assert_eq!((times.print_headline(0.000_5).as_str(), times.unit.as_str()), ("0.500", "ms"));
}

#[test]
fn values_of_one_row_share_a_unit() {
    let scale = UnitScale::for_values(&[0.5, 1_500.0], "ms");
    assert_eq!(scale.unit, "s");
    assert_eq!(scale.print(0.5), "0.000500");
    assert_eq!(scale.print(1_500.0), "1.50");
}
