//! Claim `kernels.3`: the shapes of stalls, by who sends the discards and how many at once.

use anyhow::Result;

use crate::acceptance::{Bar, Context, Finding, Form, Raw};

/// The array of \[CALL24\] as one drive, with room for what is deleted.
const ARRAY: &str = "sim:like-callaghan-raid0,capacity=600GiB";
/// Its reads a second at rest.
const AT_REST: f64 = 76_000.0;
/// Who sends the discards of 512 GB, the reads a second that \[CALL24\] has meanwhile, and for how
/// long, s.
const SHAPES: [(&str, [f64; 2], f64); 2] =
    [("ext4", [2_500.0, 2_500.0], 13.0), ("xfs", [215.0, 285.0], 4.0)];
/// As in \[CALL24\]: a large file, and nothing but 8 reads at a time. The probe comes once a
/// second, so as to be no ninth.
const SHAPE: [&str; 10] = [
    "readers=8",
    "probe-interval=1s",
    "probe-spacing=constant",
    "sizes=512GiB",
    "repetitions=1",
    "patience=0s",
    "window=20s",
    "lead=1s",
    "span=8GiB",
    "rest=5s",
];

/// Drives whose TRIMs go in their turn, alone, and later.
const DRIVES: [&str; 3] = ["like-rc100", "generic-sata-tlc", "generic-nvme-tlc"];
/// Ranges under way, and systems.
const DEPTHS: [&str; 3] = ["1", "8", "all"];
const ISSUERS: [&str; 3] = ["ext4", "xfs", "blkdiscard"];
/// 16 ranges of 128 MiB at the most.
const DELETIONS: [&str; 3] = ["sizes=256MiB,512MiB,1GiB,2GiB", "repetitions=2", LOAD];
/// Of reads alone: what writes cost a drive is not the question.
const LOAD: &str = "read-share=100%";
/// What a TRIM of 128 MiB costs the first of the drives by its profile, s: 70 us, and an eighth of
/// 267 ms.
const TRIM: f64 = 0.000_07 + 0.267 / 8.0;
const RANGES: f64 = 16.0;

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    if context.form() == Form::Full {
        for (issuer, ..) in SHAPES {
            let sender = format!("as={issuer}");
            let set = [&SHAPE[..], &[&sender]].concat();
            context.run_well(issuer, "delete-stall", (ARRAY, &set))?;
        }
    }
    for drive in DRIVES {
        for depth in DEPTHS {
            // Nothing but the issuer decides how many are under way.
            let (target, set) = (format!("sim:{drive},wbt=0"), format!("discard-depth={depth}"));
            delete(context, &run_of(drive, depth), &target, &set)?;
        }
        for issuer in ISSUERS {
            let (target, set) = (format!("sim:{drive}"), format!("as={issuer}"));
            delete(context, &run_of(drive, issuer), &target, &set)?;
        }
    }
    Ok(())
}

fn run_of(drive: &str, manner: &str) -> String {
    format!("{drive}-{manner}")
}

fn delete(context: &Context<'_>, name: &str, target: &str, set: &str) -> Result<()> {
    let set = [&DELETIONS[..], &[set]].concat();
    context.run_well(name, "delete-stall", (target, &set)).map(drop)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    if raw.form() == Form::Full {
        for (issuer, reads, seconds) in SHAPES {
            findings.extend(shape(raw, issuer, reads, seconds)?);
        }
    }
    for drive in DRIVES {
        findings.extend(stutters(raw, drive)?);
    }
    findings.extend(depths(raw)?);
    Ok(findings)
}

/// What \[CALL24\] saw: reads within a factor of 2, the time within 30 %.
fn shape(raw: &Raw, issuer: &str, [low, high]: [f64; 2], seconds: f64) -> Result<[Finding; 3]> {
    let run = raw.good_run(issuer)?;
    let finding = |what: &str, id, unit, bar| -> Result<Finding> {
        Ok(run.finding(&format!("{what}, as {issuer}"), (run.value(id)?, unit), bar))
    };
    Ok([
        finding("reads at rest", "reads-at-rest", "1/s", Bar::Near { value: AT_REST, share: 0.1 })?,
        finding(
            "reads while 512 GB are discarded",
            "largest-slow-reads",
            "1/s",
            Bar::Within(low / 2.0, high * 2.0),
        )?,
        finding(
            "time that they take",
            "largest-slow-time",
            "s",
            Bar::Near { value: seconds, share: 0.3 },
        )?,
    ])
}

/// The work of the TRIMs is the same whoever sends them, and so is what a serial probe waits, but
/// for half an interval of 1 ms a stop; a drive that works later is not felt much.
fn stutters(raw: &Raw, drive: &str) -> Result<Vec<Finding>> {
    let all = raw.good_run(&run_of(drive, "all"))?.value("stutter")?;
    let manners = DEPTHS.iter().chain(&ISSUERS);
    manners
        .map(|manner| {
            let run = raw.good_run(&run_of(drive, manner))?;
            let what = format!("stutter on {drive}, {}", words(manner));
            let bar = Bar::Within(all - 0.005 - 0.15 * all, all + 0.005 + 0.15 * all);
            let worst = run.value("largest-response-max")? * 1e3;
            let finding = run.finding(&what, (run.value("stutter")?, "s/GB"), bar);
            Ok(finding.with_note(&format!("worst response of the load {worst:.1} ms")))
        })
        .collect()
}

fn words(manner: &str) -> String {
    match manner {
        "1" | "8" | "all" => format!("{manner} at once"),
        issuer => format!("as {issuer}"),
    }
}

/// On a drive that takes TRIMs in their turn a read waits for all that are under way.
fn depths(raw: &Raw) -> Result<Vec<Finding>> {
    let expected = [1.0, 8.0, RANGES].map(|ranges: f64| ranges * TRIM);
    DEPTHS
        .iter()
        .zip(expected)
        .map(|(depth, value)| {
            let run = raw.good_run(&run_of(DRIVES[0], depth))?;
            let worst = run.value("largest-response-max")?;
            let what = format!("longest read beside 2 GiB, {} on {}", words(depth), DRIVES[0]);
            Ok(run.finding(&what, (worst, "s"), Bar::Near { value, share: 0.1 }))
        })
        .collect()
}
