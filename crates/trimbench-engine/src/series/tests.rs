use trimbench_core::{Blocks, Lba, LbaRange, Nanos, Status};

use super::*;

fn at(millis: u64) -> Instant {
    Instant::from_start(Nanos::from_millis(millis))
}

fn write(offset: u64, bytes: u64, completed: u64) -> Sample<BlockCommand> {
    let range = LbaRange::new(Lba(offset / 512), Blocks(bytes / 512)).unwrap();
    Sample {
        stream: 0,
        command: BlockCommand::write(range),
        intended: at(0),
        issued: at(0),
        completed: at(completed),
        status: Status::Done,
    }
}

const PIECE: u64 = 131_072;

fn stored(curve: &PassSeries) -> PassStep {
    let mut step = Step::new("fresh", "pass");
    curve.store(&mut step);
    step.read().unwrap()
}

#[test]
fn a_pass_that_slows_down_shows_where() {
    let span = Bytes(64 * PIECE);
    let mut curve = PassSeries::new(span, Bytes(PIECE), BlockSize::SECTOR, at(0));
    // 1 ms a piece in the first half, 4 ms in the second: 131 and 32.8 MB/s.
    let mut now = 0;
    for piece in 0..64 {
        now += if piece < 32 { 1 } else { 4 };
        curve.observe(&write(piece * PIECE, PIECE, now));
    }
    let pass = stored(&curve);
    let mean = pass.means.unwrap();
    let rates: Vec<f64> = mean.y.iter().map(|y| y.unwrap()).collect();
    assert_eq!(rates.len(), 8, "eight pieces a point");
    assert!(rates[..4].iter().all(|rate| (rate - 131.072).abs() < 1e-9), "{rates:?}");
    assert!(rates[4..].iter().all(|rate| (rate - 32.768).abs() < 1e-9), "{rates:?}");
    assert!((mean.x[0] - 4.0 * PIECE as f64 / 1e9).abs() < 1e-12, "the middle of the point");
    assert!((pass.throughput_mb_per_s_min.unwrap() - 32.768).abs() < 1e-9);
}

#[test]
fn a_short_stop_is_lost_in_the_mean_and_kept_beside_it() {
    let mut curve = PassSeries::new(Bytes(8 * PIECE), Bytes(PIECE), BlockSize::SECTOR, at(0));
    for piece in 0..8 {
        curve.observe(&write(piece * PIECE, PIECE, piece + if piece >= 4 { 101 } else { 1 }));
    }
    let pass = stored(&curve);
    let mean = pass.means.unwrap().y[0].unwrap();
    let worst = pass.slowest.unwrap().y[0].unwrap();
    assert!((mean - 8.0 * 0.131_072 / 0.108).abs() < 1e-9, "{mean}");
    assert!((worst - 0.131_072 / 0.101).abs() < 1e-9, "{worst}");
}

#[test]
fn no_byte_of_a_pass_is_lost() {
    // More pieces than points, a span that is no whole number of parts, ends out of order.
    let pieces = 7_001;
    let span = Bytes(pieces * PIECE - 512);
    let mut curve = PassSeries::new(span, Bytes(PIECE), BlockSize::SECTOR, at(0));
    for piece in 0..pieces {
        let bytes = PIECE.min(span.0 - piece * PIECE);
        let reordered = if piece % 50 == 0 { piece + 40 } else { piece };
        curve.observe(&write(piece * PIECE, bytes, reordered + 1));
    }
    let rates = curve.rates();
    let (bytes, seconds) =
        rates.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    assert!((bytes - span.0 as f64).abs() < 0.5, "{bytes}");
    assert!((seconds - 7.041).abs() < 1e-9, "{seconds}: from the start to the latest end");
    let points = stored(&curve).means.unwrap().x.len();
    assert!((200..=400).contains(&points), "{points}");
}

#[test]
fn parts_that_end_together_take_no_time_of_their_own() {
    let mut curve = PassSeries::new(Bytes(16 * PIECE), Bytes(PIECE), BlockSize::SECTOR, at(0));
    (0..16).for_each(|piece| curve.observe(&write(piece * PIECE, PIECE, 10)));
    let y = stored(&curve).means.unwrap().y;
    assert!((y[0].unwrap() - 16.0 * 0.131_072 / 0.01).abs() < 1e-6);
    assert_eq!(y[1], None);
}

#[test]
fn a_curve_over_time_has_a_bounded_number_of_points_and_counts_all_commands() {
    for commands in [1_u64, 15, 16, 31, 32, 33, 1_000, 100_003] {
        let mut curve = RateCurve::new(0, at(0));
        (0..commands).for_each(|number| curve.observe(&write(0, 4_096, number + 1)));
        let slices = curve.slices();
        assert!(slices.len() <= 2 * SLICES, "{commands}: {}", slices.len());
        assert!(slices.len() as u64 >= commands.min(SLICES as u64), "{commands}: {}", slices.len());
        // One command a millisecond, in every slice.
        assert!(slices.iter().all(|slice| (slice.2 - 1_000.0).abs() < 1e-6), "{slices:?}");
        assert_eq!(slices.last().unwrap().1, at(commands));
    }
}

#[test]
fn a_curve_over_time_has_its_axes_in_seconds_and_in_gigabytes() {
    let mut curve = RateCurve::new(32, at(0));
    // Two commands a millisecond, then one.
    (0..16).for_each(|number| curve.observe(&write(0, 4_096, number / 2 + 1)));
    (0..16).for_each(|number| curve.observe(&write(0, 4_096, 9 + number)));
    let mut step = Step::new("round-1", "round");
    curve.store(&mut step, 100.0, 7.0, Bytes(4_096));
    let RateStep { by_time, by_bytes } = step.read().unwrap();
    let (time, bytes) = (by_time.unwrap(), by_bytes.unwrap());
    assert!((time.y[0].unwrap() - 2_000.0).abs() < 1e-6 && (time.x[0] - 100.001).abs() < 1e-9);
    assert!((time.y[15].unwrap() - 1_000.0).abs() < 1e-6 && (time.x[15] - 100.024).abs() < 1e-9);
    assert!((bytes.x[15] - (7.0 + 31.0 * 4_096.0 / 1e9)).abs() < 1e-12);
}

#[test]
fn the_last_commands_of_a_load_are_no_point_of_their_own() {
    // 16 slices of 100 commands in as many milliseconds, then so many that take 10 ms each.
    let slowest = |rest: u64| {
        let mut curve = RateCurve::new(1_600, at(0));
        (0..1_600).for_each(|number| curve.observe(&write(0, 4_096, number + 1)));
        (0..rest).for_each(|number| curve.observe(&write(0, 4_096, 1_600 + 10 * (number + 1))));
        let slices = curve.slices();
        assert_eq!(slices.last().unwrap().1, at(1_600 + 10 * rest));
        slices.iter().map(|slice| slice.2).reduce(f64::min).unwrap()
    };
    assert!((slowest(3) - 103.0 / 0.13).abs() < 1e-6, "{}", slowest(3));
    assert!((slowest(50) - 100.0).abs() < 1e-6, "half a slice is a load: {}", slowest(50));
}

#[test]
fn slices_of_time_count_what_ended_in_them() {
    let mut curve = SliceCurve::new(at(100), Nanos::from_millis(10), 4, BlockSize::SECTOR);
    // At the border it is the next slice; what ends after the last counts nowhere.
    for completed in [100, 109, 110, 125, 139, 140, 500] {
        curve.observe(&write(0, 4_096, completed));
    }
    let series = curve.curve().unwrap();
    let rate = |count: f64| Some(count * 4_096.0 / 1e6 / 0.01);
    assert_eq!(series.y, [rate(2.0), rate(1.0), rate(1.0), rate(1.0)]);
    assert!((series.x[0] - 0.005).abs() < 1e-12 && (series.x[3] - 0.035).abs() < 1e-12);
}
