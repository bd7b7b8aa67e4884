use proptest::prelude::*;

use super::*;

fn of(latencies: &[u64]) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new();
    for &latency in latencies {
        histogram.record(Nanos(latency));
    }
    histogram
}

/// Whether `answer` is `exact` or the upper end of its class: at most 1/1024 above.
fn is_within_three_digits(answer: Nanos, exact: u64) -> bool {
    exact <= answer.0 && answer.0 <= exact + exact / 1_024
}

/// Latencies over all magnitudes, many equal.
fn latencies(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u64>> {
    let latency = (0_u32..46, 1_u64..4_096)
        .prop_map(|(shift, digits)| ((digits << shift) >> 11).min(LONGEST.0));
    prop::collection::vec(latency, count)
}

proptest! {
    #[test]
    fn percentiles_equal_the_exact_ranks_within_three_digits(mut exact in latencies(0..3_000)) {
        let histogram = of(&exact);
        exact.sort_unstable();
        for quantile in Quantile::STANDARD {
            let needed = quantile.samples_needed();
            let answer = histogram.percentile(quantile);
            prop_assert_eq!(answer.is_some(), exact.len() as u64 >= needed, "{}", quantile);
            if let Some(answer) = answer {
                let rank = (exact.len() as u64 * u64::from(quantile.millionths))
                    .div_ceil(1_000_000);
                let value = exact[usize::try_from(rank).unwrap() - 1];
                prop_assert!(is_within_three_digits(answer, value), "{quantile}: {answer:?}");
            }
        }
    }

    #[test]
    fn latency_weighted_percentiles_split_the_time(mut exact in latencies(1_000..2_000)) {
        let histogram = of(&exact);
        exact.sort_unstable();
        let total: u128 = exact.iter().map(|&latency| u128::from(latency)).sum();
        for quantile in [Quantile::P50, Quantile::P90, Quantile::P99] {
            let answer = histogram.latency_weighted(quantile).unwrap();
            // Classes blur the sums by up to 0.1 %: the answer lies between the exact answers for
            // shares a little smaller and larger.
            let at = |share: f64| {
                let mut sum = 0_u128;
                let reached = exact.iter().find(|&&latency| {
                    sum += u128::from(latency);
                    sum as f64 >= share * total as f64
                });
                *reached.unwrap_or(exact.last().unwrap())
            };
            let (low, high) = (at(quantile.fraction() - 2e-3), at(quantile.fraction() + 2e-3));
            prop_assert!(low <= answer.0 && answer.0 <= high + high / 1_024);
        }
    }

    #[test]
    fn mean_and_max_are_the_exact_ones_within_three_digits(exact in latencies(1..500)) {
        let histogram = of(&exact);
        let mean = exact.iter().sum::<u64>() as f64 / exact.len() as f64;
        prop_assert!((histogram.mean().unwrap() - mean).abs() <= mean / 1_024.0 + 0.5);
        let max = *exact.iter().max().unwrap();
        prop_assert!(is_within_three_digits(histogram.max().unwrap(), max));
    }

    #[test]
    fn merging_is_recording_together_and_text_keeps_everything(
        left in latencies(0..300),
        right in latencies(0..300),
    ) {
        let mut merged = of(&left);
        merged.merge(&of(&right));
        let together = of(&[left, right].concat());
        prop_assert_eq!(&merged, &together);
        prop_assert_eq!(merged.to_text(), together.to_text());
        let read = LatencyHistogram::from_text(&merged.to_text()).unwrap();
        prop_assert_eq!(&read, &merged);
        prop_assert_eq!(read.to_text(), merged.to_text());
        prop_assert_eq!(read.max(), merged.max());
        prop_assert_eq!(read.mean(), merged.mean());
        prop_assert_eq!(read.percentile(Quantile::P90), merged.percentile(Quantile::P90));
    }
}

#[test]
fn an_empty_histogram_answers_nothing() {
    let empty = LatencyHistogram::new();
    assert_eq!(empty.count(), 0);
    assert_eq!(empty.max(), None);
    assert_eq!(empty.mean(), None);
    assert_eq!(empty.percentile(Quantile::P50), None);
    assert_eq!(empty.latency_weighted(Quantile::P50), None);
    assert_eq!(LatencyHistogram::from_text(&empty.to_text()).unwrap(), empty);
}

#[test]
fn no_percentile_is_given_from_too_few_samples() {
    let needed = [20, 100, 1_000, 10_000, 100_000];
    for (quantile, needed) in Quantile::STANDARD.into_iter().zip(needed) {
        assert_eq!(quantile.samples_needed(), needed, "{quantile}");
        let enough = vec![1_000; usize::try_from(needed).unwrap()];
        assert!(of(&enough).percentile(quantile).is_some(), "{quantile}");
        assert!(of(&enough[1..]).percentile(quantile).is_none(), "{quantile}");
        assert!(of(&enough[1..]).latency_weighted(quantile).is_none(), "{quantile}");
    }
}

#[test]
fn one_stall_is_most_of_the_time_though_few_of_the_commands() {
    // 999 commands of 100 us are 0.0999 s; one of 2 s is 95 % of the time.
    let mut commands = vec![100_000; 999];
    commands.push(2_000_000_000);
    let histogram = of(&commands);
    assert!(is_within_three_digits(histogram.percentile(Quantile::P99).unwrap(), 100_000));
    let weighted = histogram.latency_weighted(Quantile::P50).unwrap();
    assert!(is_within_three_digits(weighted, 2_000_000_000));
    let five_percent = Quantile::from_millionths(47_000).unwrap();
    let weighted = histogram.latency_weighted(five_percent).unwrap();
    assert!(is_within_three_digits(weighted, 100_000));
}

#[test]
fn latencies_beyond_a_day_count_as_a_day_and_are_counted() {
    let histogram = of(&[1_000, u64::MAX, LONGEST.0, LONGEST.0 + 1]);
    assert_eq!(histogram.count(), 4);
    assert!(is_within_three_digits(histogram.max().unwrap(), LONGEST.0));
    let same = LatencyHistogram::from_text(&histogram.to_text()).unwrap();
    assert_eq!((same.count(), same.max()), (4, histogram.max()));
}

#[test]
fn text_that_is_no_latency_histogram_is_refused() {
    assert_eq!(LatencyHistogram::from_text("not base64!"), Err(HistogramError::NotBase64));
    assert_eq!(LatencyHistogram::from_text("AAAA"), Err(HistogramError::NotV2));
    // 1.3 GiB of counts are announced, and not there.
    let mut bytes = STANDARD.decode(LatencyHistogram::new().to_text()).unwrap();
    bytes[4] = 0x50;
    let announced = LatencyHistogram::from_text(&STANDARD.encode(bytes));
    assert_eq!(announced, Err(HistogramError::NotV2));
    let other = Histogram::<u64>::new_with_bounds(1, 1_000_000, 2).unwrap();
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&other, &mut bytes).unwrap();
    assert_eq!(
        LatencyHistogram::from_text(&STANDARD.encode(bytes)),
        Err(HistogramError::OtherShape { low: 1, high: 1_000_000, digits: 2 })
    );
    let whole = of(&[1, 1_000, 1_000_000]).to_text();
    assert!(LatencyHistogram::from_text(&whole[..whole.len() - 4]).is_err());
}

#[test]
fn the_text_form_is_that_of_the_published_format() {
    // HdrHistogram V2, big-endian: cookie, payload length, offset, digits, low, high, ratio 1.0.
    let mut bytes = vec![0x1c, 0x84, 0x93, 0x13, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 3];
    bytes.extend(1_u64.to_be_bytes());
    bytes.extend(86_400_000_000_000_u64.to_be_bytes());
    bytes.extend(1.0_f64.to_be_bytes());
    // ZigZag LEB128: 1 zero, 2 ones, 3,296 empty classes, 1 in class 3 * 1024 + 5000 / 4 - 1024.
    bytes.extend([2, 4, 0xbf, 0x33, 2]);
    assert_eq!(of(&[0, 1, 1, 5_000]).to_text(), STANDARD.encode(bytes));
}

#[test]
fn quantiles_print_and_parse_as_percentiles() {
    let names = ["p50", "p90", "p99", "p99.9", "p99.99"];
    for (quantile, name) in Quantile::STANDARD.into_iter().zip(names) {
        assert_eq!(quantile.to_string(), name);
        assert_eq!(name.parse(), Ok(quantile));
    }
    assert_eq!("p5.0010".parse(), Ok(Quantile { millionths: 50_010 }));
    for bad in ["p", "99", "p100", "p0", "p99.", "p99.99999", "p-1", "p+1", "p9.+1", "p1e1"] {
        assert_eq!(bad.parse::<Quantile>(), Err(NotAQuantile), "{bad}");
    }
    assert_eq!(Quantile::from_millionths(0), None);
    assert_eq!(Quantile::from_millionths(1_000_000), None);
}
