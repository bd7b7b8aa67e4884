//! The generator compared with the golden vectors; operations and speed on a real directory
//! compared with Debian's `postmark` in the same directory.

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use trimbench_methods::postmark::{Forecast, Generator, PostmarkOperation, Settings};
use trimbench_results::{Session, Step};

use super::{Set, numbers, terse_line};
use crate::acceptance::{Bar, Capture, Context, Finding, Form, Raw};

/// Small enough that Debian's sums of bytes, in single precision, are exact. It refuses a least
/// size of 0 and goes on with the sizes that it had, so that 1 stands for 0.
const SETS: [Set; 5] = [
    Set { name: "subdirectories", options: &[("subdirectories", "7")] },
    Set { name: "no-reads", options: &[("bias-read", "-1"), ("number", "400")] },
    Set { name: SMALLEST, options: &[("size-low", "1B"), ("size-high", "9000B")] },
    Set {
        name: "unbuffered",
        options: &[("buffering", "false"), ("read-block", "1000B"), ("write-block", "3000B")],
    },
    Set {
        name: "more-transactions",
        options: &[("number", "200"), ("transactions", "2000"), ("size-high", "4000B")],
    },
];
/// The set with the least size that Debian's program takes.
const SMALLEST: &str = "size-low-1";
/// What is timed.
const TIMED: Set = Set {
    name: "timed",
    options: &[
        ("number", "20000"),
        ("transactions", "20000"),
        ("read-block", "4096B"),
        ("write-block", "4096B"),
    ],
};
const PAIRS: usize = 12;
const PAIRS_SHORT: usize = 3;
const RATIO_MOST: f64 = 1.05;

/// A name, parameters, and what they lead to.
type Golden = (&'static str, Settings, &'static [(&'static str, u64)]);

/// The sets of the specification, with what it says they do.
const GOLDEN: [Golden; 3] = [
    (
        "published",
        Settings { number: 50_000, transactions: 50_000, ..LARGE },
        &[
            ("created", 74_761),
            ("created_in_transactions", 24_761),
            ("read", 24_974),
            ("appended", 25_025),
            ("append_skipped", 1),
            ("deleted_in_transactions", 25_239),
            ("deleted_alone", 49_522),
            ("bytes_written", 8_615_456_523),
            ("bytes_read", 2_753_016_550),
            ("live_bytes", 5_840_101_140),
            ("size_1", 11_217),
            ("size_2", 122_585),
            ("size_3", 91_981),
            ("size_4", 141_301),
            ("size_5", 41_498),
        ],
    ),
    (
        "defaults",
        Settings { number: 500, transactions: 500, size_low: 500, size_high: 10_000, ..LARGE },
        &[
            ("created", 764),
            ("created_in_transactions", 264),
            ("read", 243),
            ("appended", 257),
            ("append_skipped", 0),
            ("deleted_in_transactions", 236),
            ("deleted_alone", 528),
            ("bytes_written", 4_662_068),
            ("bytes_read", 1_430_770),
            ("live_bytes", 3_330_933),
            ("size_1", 1_390),
            ("size_2", 4_732),
            ("size_3", 3_583),
            ("size_4", 6_507),
            ("size_5", 9_640),
        ],
    ),
    (
        "third",
        LARGE,
        &[
            ("created", 4_521),
            ("read", 2_499),
            ("appended", 2_501),
            ("deleted_alone", 2_042),
            ("deleted_in_transactions", 2_479),
        ],
    ),
];
const LARGE: Settings = Settings {
    number: 2_000,
    transactions: 5_000,
    size_low: 1_000,
    size_high: 200_000,
    seed: 42,
    subdirectories: 0,
    read_bias: Some(5),
    create_bias: Some(5),
};

/// What the generator does with these settings.
fn forecast(settings: &Settings) -> Value {
    let counts = Forecast::new(settings).counts;
    let mut value = json!({
        "created": counts.created,
        "created_in_transactions": counts.created_in_transactions,
        "read": counts.read,
        "appended": counts.appended,
        "append_skipped": counts.append_skipped,
        "deleted_in_transactions": counts.deleted_in_transactions,
        "deleted_alone": counts.deleted_alone,
        "bytes_written": counts.bytes_written,
        "bytes_read": counts.bytes_read,
        "live_bytes": counts.live_bytes_at_deletion,
    });
    let mut generator = Generator::new(settings);
    for index in 1..=5 {
        if let Some((_, PostmarkOperation::Create { size, .. })) = generator.next_operation() {
            value[format!("size_{index}")] = size.into();
        }
    }
    value
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    context.keep("golden", || Ok(GOLDEN.map(|(_, settings, _)| forecast(&settings)).to_vec()))?;
    let directory = match context.form() {
        Form::Acceptance => context.memory_folder()?,
        Form::Short | Form::Full => context.root_folder()?,
    };
    for set in SETS {
        context.capture_well(
            &format!("{}-peer", set.name),
            &mut set.peer(context, directory.path())?,
        )?;
        ours(context, &set, (directory.path(), set.name))?;
    }
    if context.form() == Form::Acceptance {
        // Times are no matter of CI.
        return Ok(());
    }
    // In memory, where nothing but the programs and the kernel takes time: on a disk that others
    // use the runs of one program differ by a factor of four.
    let memory = context.memory_folder()?;
    let pairs = if context.is_short() { PAIRS_SHORT } else { PAIRS };
    for pair in 1..=pairs {
        let name = format!("pair-{pair}");
        let mut peer = TIMED.peer(context, memory.path())?;
        // Each goes first in every second pair.
        if pair % 2 == 0 {
            ours(context, &TIMED, (memory.path(), &name))?;
        }
        context.capture_well(&format!("{name}-peer"), &mut peer)?;
        let mut idle = TIMED.idle_peer(context, memory.path())?;
        context.capture_well(&format!("{name}-idle"), &mut idle)?;
        if pair % 2 == 1 {
            ours(context, &TIMED, (memory.path(), &name))?;
        }
    }
    Ok(())
}

/// One repetition of ours. That the page cache had the files makes the run invalid as a measurement
/// of TRIM, and is no matter here.
fn ours(
    context: &Context<'_>,
    set: &Set,
    (directory, name): (&std::path::Path, &str),
) -> Result<()> {
    let mut command = set.ours(context, directory, 1)?;
    command.arg("--output").arg(context.folder().join(name));
    let capture = context.capture(name, &mut command)?;
    ensure!(matches!(capture.status, Some(0 | 4)), "`{}` ended otherwise", capture.command);
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = golden(raw)?;
    for set in SETS {
        findings.push(equal(raw, &set)?);
    }
    if raw.form() != Form::Acceptance {
        findings.push(ratio(raw)?);
    }
    Ok(findings)
}

fn golden(raw: &Raw) -> Result<Vec<Finding>> {
    let (capture, forecasts): (_, Vec<Value>) = raw.lines("golden")?;
    ensure!(forecasts.len() == GOLDEN.len(), "{} sets", forecasts.len());
    let finding = |((name, _, expected), forecast): (&Golden, &Value)| {
        let right = expected.iter().filter(|(key, value)| forecast[key] == *value).count();
        let what = format!("numbers that are exact, of the set `{name}`");
        let bar = Bar::Equals(expected.len() as f64);
        Finding::new(&what, (right as f64, ""), bar, &capture)
    };
    Ok(GOLDEN.iter().zip(&forecasts).map(finding).collect())
}

/// The only repetition of a record.
fn repetition(raw: &Raw, name: &str) -> Result<Step> {
    let sessions: Vec<Session> = raw.record(&format!("{name}/run.json"))?.sessions;
    let step = sessions.into_iter().flat_map(|session| session.steps).next();
    step.with_context(|| format!("`{name}` has no repetition"))
}

/// How many of the counts that Debian's program printed equal ours.
fn equal(raw: &Raw, set: &Set) -> Result<Finding> {
    let peer = raw.capture(&format!("{}-peer", set.name))?;
    let printed = numbers(terse_line(&raw.text(&peer.output)?)?)?;
    let step = repetition(raw, set.name)?;
    let metric = |key: &str| step.metrics.get(key).copied().context("a metric is missing");
    let [total, transactions, ..] = printed;
    let initially = metric("created_count")? - metric("created_in_transactions_count")?;
    // Theirs, ours. Creation and deletion alone took their own times, which the line does not have:
    // their ratios tell those.
    let rows = [
        (printed[3] * total, metric("created_count")?),
        (printed[5] * transactions, metric("created_in_transactions_count")?),
        (printed[6] * transactions, metric("read_count")?),
        (printed[7] * transactions, metric("appended_count")?),
        (printed[10] * transactions, metric("deleted_in_transactions_count")?),
        (printed[11] * total, metric("read_bytes")?),
        (printed[12] * total, metric("written_bytes")?),
        ((initially / printed[4]).round() * printed[4], initially),
        (
            (metric("deleted_alone_count")? / printed[9]).round() * printed[9],
            metric("deleted_alone_count")?,
        ),
    ];
    // The line has two decimals.
    let tolerance = 0.006 * total;
    let same = rows.iter().filter(|(theirs, ours)| (theirs - ours).abs() <= tolerance).count();
    let what = format!("counts and sums of bytes equal to Debian's, {}", set.name);
    let mut note = format!(
        "{} created, {} read, {} appended, {} bytes written",
        rows[0].1, rows[2].1, rows[3].1, rows[6].1
    );
    if set.name == SMALLEST {
        note += "; a least size of 0 is compared with nothing: Debian's program refuses it";
    }
    let bar = Bar::Equals(rows.len() as f64);
    Ok(Finding::new(&what, (same as f64, ""), bar, &peer).with_note(&note))
}

/// Ours over Debian's, over all pairs.
fn ratio(raw: &Raw) -> Result<Finding> {
    let captures = raw.captures()?;
    let peers: Vec<&Capture> = captures
        .iter()
        .filter(|it| it.name.starts_with("pair-") && it.name.ends_with("-peer"))
        .collect();
    ensure!(peers.len() >= PAIRS_SHORT, "{} pairs", peers.len());
    let mut ratios = Vec::new();
    for peer in &peers {
        let pair = peer.name.trim_end_matches("-peer");
        let step = repetition(raw, pair)?;
        let ours = step.metrics.get("total_s").context("no total")?;
        let idle = captures.iter().find(|it| it.name == format!("{pair}-idle"));
        let idle = idle.context("no idle run of Debian's")?.elapsed_seconds;
        ratios.push(ours / (peer.elapsed_seconds - idle));
    }
    ratios.sort_by(f64::total_cmp);
    let median = f64::midpoint(ratios[(ratios.len() - 1) / 2], ratios[ratios.len() / 2]);
    let note = format!(
        "{} interleaved pairs on tmpfs, ratios {:.3} to {:.3}; ours from the first file to the \
         last, Debian's as a process, less a run of it that only reads its parameters",
        ratios.len(),
        ratios[0],
        ratios[ratios.len() - 1]
    );
    let what = "wall time, ours over Debian's";
    Ok(Finding::new(what, (median, ""), Bar::AtMost(RATIO_MOST), peers[0]).with_note(&note))
}

#[cfg(test)]
mod tests;
