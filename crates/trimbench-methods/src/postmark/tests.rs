//! The golden vectors of the specification, the published table, and old terse lines.

use trimbench_core::Nanos;

use super::mersenne::Mersenne;
use super::*;

const DEFAULTS: Settings = Settings {
    number: 500,
    transactions: 500,
    size_low: 500,
    size_high: 10_000,
    seed: 42,
    subdirectories: 0,
    read_bias: Some(5),
    create_bias: Some(5),
};
const S0: Settings = Settings {
    number: 50_000,
    transactions: 50_000,
    size_low: 1_000,
    size_high: 200_000,
    ..DEFAULTS
};

fn first_sizes(settings: &Settings) -> Vec<u32> {
    let mut generator = Generator::new(settings);
    let mut sizes = Vec::new();
    while let Some((_, PostmarkOperation::Create { size, .. })) = generator.next_operation()
        && sizes.len() < 5
    {
        sizes.push(size);
    }
    sizes
}

#[test]
fn both_golden_vectors_are_exact() {
    let forecast = Forecast::new(&S0);
    let counts = forecast.counts;
    assert_eq!((counts.created, counts.created_in_transactions), (74_761, 24_761));
    assert_eq!((counts.read, counts.appended, counts.append_skipped), (24_974, 25_025, 1));
    assert_eq!((counts.deleted_in_transactions, counts.deleted_alone), (25_239, 49_522));
    assert_eq!((counts.bytes_written, counts.bytes_read), (8_615_456_523, 2_753_016_550));
    assert_eq!(counts.live_bytes_at_deletion, 5_840_101_140);
    assert_eq!((counts.live_bytes, counts.transactions), (0, 50_000));
    assert_eq!(first_sizes(&S0), [11_217, 122_585, 91_981, 141_301, 41_498]);

    let counts = Forecast::new(&DEFAULTS).counts;
    assert_eq!((counts.created, counts.created_in_transactions), (764, 264));
    assert_eq!((counts.read, counts.appended, counts.append_skipped), (243, 257, 0));
    assert_eq!((counts.deleted_in_transactions, counts.deleted_alone), (236, 528));
    assert_eq!((counts.bytes_written, counts.bytes_read), (4_662_068, 1_430_770));
    assert_eq!(counts.live_bytes_at_deletion, 3_330_933);
    assert_eq!(first_sizes(&DEFAULTS), [1_390, 4_732, 3_583, 6_507, 9_640]);
}

#[test]
fn more_transactions_than_files_and_switched_off_halves() {
    let third = Settings { number: 2_000, transactions: 5_000, ..S0 };
    let counts = Forecast::new(&third).counts;
    assert_eq!((counts.created, counts.read, counts.appended), (4_521, 2_499, 2_501));
    assert_eq!((counts.deleted_alone, counts.deleted_in_transactions), (2_042, 2_479));

    // As printed by Debian's 1.53 in one process, so that their seed goes on: only what does not
    // depend on it.
    let no_reads = Forecast::new(&Settings { read_bias: None, ..DEFAULTS }).counts;
    assert_eq!((no_reads.read, no_reads.appended), (0, 0));
    let no_creation = Forecast::new(&Settings { create_bias: None, ..DEFAULTS }).counts;
    assert_eq!((no_creation.created, no_creation.deleted_in_transactions), (500, 0));
    let all_deleted = Settings { create_bias: Some(0), number: 300, ..DEFAULTS };
    let forecast = Forecast::new(&all_deleted);
    assert!(forecast.runs_out_of_files);
    assert_eq!((forecast.counts.transactions, forecast.counts.deleted_alone), (300, 0));
    assert!(!Forecast::new(&DEFAULTS).runs_out_of_files);
}

/// Sizes of the files made before the transactions.
fn sizes_at_first(settings: &Settings) -> Vec<u32> {
    let mut generator = Generator::new(settings);
    let mut sizes = Vec::new();
    while let Some((PostmarkPhase::Creation, PostmarkOperation::Create { size, .. })) =
        generator.next_operation()
    {
        sizes.push(size);
    }
    sizes
}

#[test]
fn a_least_size_of_0_makes_empty_files_and_one_size_draws_nothing() {
    // Debian's 1.53 refuses a least size of 0, so the specification's draws are the standard: those
    // after the source's two for each byte of the largest size.
    let empty = Settings { size_low: 0, size_high: 9, ..DEFAULTS };
    let after_source = || {
        let mut random = Mersenne::new(42);
        (0..18).for_each(|_| _ = random.below(95));
        random
    };
    let mut random = after_source();
    let sizes = sizes_at_first(&empty);
    assert_eq!(sizes, (0..500).map(|_| random.below(9)).collect::<Vec<_>>());
    assert!(sizes.contains(&0) && sizes.contains(&8) && sizes.len() == 500);
    let counts = Forecast::new(&empty).counts;
    assert_eq!((counts.live_bytes, counts.transactions), (0, 500));

    let one = Settings { size_low: 9, ..empty };
    assert_eq!(sizes_at_first(&one), [9; 500]);
    // The first transaction's first draw is the one after the source.
    let mut generator = Generator::new(&one);
    let first = (0..=500).filter_map(|_| generator.next_operation()).last().unwrap();
    let reads = after_source().below(10) < 5;
    assert_eq!(
        matches!(first, (PostmarkPhase::Transactions, PostmarkOperation::Read { .. })),
        reads
    );
    assert_eq!(Forecast::new(&one).counts.appended, 0, "every file has its largest size");
}

#[test]
fn the_source_is_printable_and_the_files_fit_into_the_room() {
    let generator = Generator::new(&DEFAULTS);
    assert_eq!(generator.source().len(), 20_000);
    // The first characters of what Debian's 1.53 writes with the seed 42.
    let s0 = Generator::new(&Settings { size_high: 20_000, ..DEFAULTS });
    assert!(s0.source().starts_with(b"LeZebJ6S5~qPv$C$py}hmKd H58nM4~."));
    assert!(generator.source().iter().all(|byte| (32..127).contains(byte)));
    let forecast = Forecast::new(&S0);
    assert!(forecast.room >= forecast.counts.live_bytes_at_deletion);
    assert!(forecast.room <= 6_300_000_000, "{}", forecast.room);
}

/// A row of the published table: drive, buffering, metric, value without and with discard.
fn published() -> Vec<(String, String, String, [f64; 2])> {
    let rows = include_str!("published.csv").lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let value = |index: usize| cells[index].parse().unwrap();
        let [drive, buffering, metric] = [0, 1, 2].map(|index: usize| cells[index].to_owned());
        (drive, buffering, metric, [value(3), value(4)])
    });
    rows.collect()
}

/// The 24 columns of the published table, each with its name.
fn columns() -> Vec<(String, [f64; 13])> {
    let rows = published();
    assert_eq!(rows.len(), 156);
    let mut columns = Vec::new();
    for drive in 1..=6 {
        for buffering in ["true", "false"] {
            for (index, discard) in ["nodiscard", "discard"].into_iter().enumerate() {
                let drive = format!("vendor{drive}");
                let column = METRICS.map(|metric| {
                    let is_it = |row: &&(String, String, String, [f64; 2])| {
                        row.0 == drive && row.1 == buffering && row.2 == metric.name
                    };
                    rows.iter().find(is_it).unwrap().3[index]
                });
                columns.push((format!("{drive} {buffering} {discard}"), column));
            }
        }
    }
    columns
}

#[test]
fn all_published_columns_carry_the_old_formula_and_true_rates_are_recovered() {
    let columns = columns();
    assert_eq!(columns.len(), 24);
    for (name, column) in &columns {
        let signature = column[9] / column[4];
        let expected = 49_522.0 / 50_000.0;
        assert!((signature - expected).abs() < 2e-5, "{name}: {signature}");
        let imported = Imported::of(*column, Some(50_000)).unwrap();
        assert!(imported.old_formula, "{name}");
        let unaided = Imported::of(*column, None).unwrap();
        assert!((unaided.number / 50_000.0 - 1.0).abs() < 0.01, "{name}: {}", unaided.number);
        assert!(unaided.old_formula, "{name}");
    }
    let vendor2 = |name: &str| {
        let (_, column) = columns.iter().find(|column| column.0 == name).unwrap();
        Imported::of(*column, Some(50_000)).unwrap()
    };
    let discard = vendor2("vendor2 true discard");
    assert!((discard.printed[9] - 971.77).abs() < 1e-9);
    assert_eq!(format!("{:.0}", discard.deletion_alone.unwrap()), "507");
    assert_eq!(format!("{:.1}", discard.deletion.unwrap()), "97.6");
    let nodiscard = vendor2("vendor2 true nodiscard");
    assert_eq!(format!("{:.1}", nodiscard.deletion.unwrap()), "10.7");
}

fn times(creation: u64, transactions: u64, deletion: u64) -> Times {
    let [creation, transactions, deletion] =
        [creation, transactions, deletion].map(Nanos::from_millis);
    Times { creation, transactions, deletion }
}

#[test]
fn a_printed_line_is_the_old_one_and_is_read_back_true() {
    let counts = Forecast::new(&S0).counts;
    let times = times(50_400, 2_480_000, 97_500);
    let line = terse_1_51(&counts, 50_000, &times);
    let fields: Vec<&str> = line.split(' ').collect();
    assert_eq!(fields.len(), 13);
    assert_eq!(fields[..4], ["2627", "2480", "20.16", "28.46"]);
    assert_eq!((fields[4], fields[8], fields[9]), ("1000.00", "28.46", "990.44"));
    let imported = Imported::read(&line, Some(50_000)).unwrap();
    assert!(imported.old_formula);
    assert!((imported.deletion.unwrap() - 97.0).abs() < 1e-6);
    let truth = phases(&counts, &times);
    let alone = truth.deletion_alone_per_s.unwrap();
    assert!((imported.deletion_alone.unwrap() / alone - 1.0).abs() < 0.01);
    assert!((alone - 49_522.0 / 97.5).abs() < 1e-9);
    assert!((truth.deleted_per_s.unwrap() - 74_761.0 / 2627.9).abs() < 1e-9);
}

#[test]
fn a_phase_that_the_old_clock_did_not_see_has_no_true_rate() {
    let counts = Forecast::new(&DEFAULTS).counts;
    let line = terse_1_51(&counts, 500, &times(100, 50, 20));
    // As Debian's 1.53 prints it: what 1.51 divides otherwise is 1 s in both.
    assert_eq!(
        line,
        "1 1 500.00 764.00 500.00 264.00 243.00 257.00 764.00 528.00 236.00 1430770.00 4662068.00"
    );
    let imported = Imported::read(&line, None).unwrap();
    assert_eq!((imported.deletion, imported.deletion_alone), (None, None));
    assert!(imported.old_formula);
}

#[test]
fn a_line_of_a_later_version_is_taken_as_it_is() {
    // Debian's 1.53, 50,000 files: creation 3 s, deletion 1 s.
    let line = "3 1 500.00 16749.67 16666.67 249.00 0.00 0.00 16749.67 49998.00 251.00 0.00 9.34";
    let imported = Imported::read(line, None).unwrap();
    assert!(!imported.old_formula);
    assert_eq!(imported.deletion_alone, Some(49_998.0));
}

#[test]
fn what_is_no_terse_line_is_refused() {
    let fields = |found| Err(ImportError::Fields { found });
    assert_eq!(Imported::read("", None), fields(0));
    assert_eq!(Imported::read("1 2 3", None), fields(3));
    let text = |text: &str| Err(ImportError::Number { text: text.to_owned() });
    assert_eq!(Imported::read("1 2 three", None), text("three"));
    assert_eq!(Imported::read("1 -2", None), text("-2"));
    assert_eq!(Imported::read("1 nan", None), text("nan"));
    let zero = "0 1 1 1 1 1 1 1 1 1 1 1 1";
    assert_eq!(
        Imported::read(zero, None),
        Err(ImportError::Zero { metric: "Total_duration", value: 0.0 })
    );
    // More deleted in transactions than were ever created; more created in them than at all.
    let read = |mixed: &str, deleted: &str| {
        let line = format!("3 1 500 16749.67 16666.67 {mixed} 0 0 16749.67 49998 {deleted} 0 9.34");
        Imported::read(&line, None)
    };
    let what = |result| match result {
        Err(ImportError::Contradiction { what, .. }) => what,
        _ => "",
    };
    assert!(read("249", "251").is_ok());
    assert_eq!(what(read("249", "9e99")), "the time of the deletion");
    assert_eq!(what(read("9e99", "251")), "the files made before the transactions");
}
