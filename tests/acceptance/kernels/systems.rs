//! The method `kernels` on six drives of different modes of TRIM: the same deletions under each
//! filesystem and era, and what the sources of the kernels say of them.

use anyhow::{Context as _, Result};
use trimbench_core::Caveat;
use trimbench_engine::{MethodDefinition as _, Preset};
use trimbench_methods::kernels::Kernels;
use trimbench_results::number::quantity;

use crate::acceptance::runs::Run;
use crate::acceptance::{Bar, Context, Finding, Raw};

#[cfg(test)]
mod tests;

/// Two drives that a TRIM blocks, one of them for long; two whose TRIMs queue; one that works them
/// off later; one that only acknowledges them.
const DRIVES: [&str; 6] = [
    "vendor2",
    "generic-sata-tlc",
    "like-rc100",
    "generic-nvme-dramless",
    "generic-nvme-tlc",
    "like-optane-900p",
];
/// Options of the short form.
const SHORT: &[&str] = &["drive-writes=2"];
/// The longest that a drive may take, in seconds.
const SECONDS_MOST: f64 = 60.0;
/// The columns of the table, by the first parts of their figures' ids.
const COLUMNS: [&str; 8] = [
    "p99-read",
    "longest-read",
    "longest-fsync",
    "stutter",
    "all-discarded",
    "discarded",
    "lost",
    "amplification",
];
/// Those whose discards are part of a commit or of the end of a log write.
const WITHIN_COMMIT: [&str; 4] = ["ext4-4.13", "ext4-2.6.33", "xfs", "btrfs-sync"];

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let options = if context.is_short() { SHORT } else { &[] };
    for drive in DRIVES {
        let target = format!("ext4:sim:{drive}");
        context.run_well(drive, "kernels", (&target, options))?;
    }
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let drives = DRIVES.iter().map(|drive| DriveTable::of(raw, drive));
    let drives: Vec<DriveTable> = drives.collect::<Result<_>>()?;
    let mut findings = Vec::new();
    for drive in &drives {
        findings.extend(drive.findings());
    }
    findings.extend(worst(&drives)?);
    Ok(findings)
}

/// The table of one drive.
struct DriveTable {
    drive: &'static str,
    run: Run,
    /// The systems that were not skipped.
    systems: Vec<&'static str>,
}

impl DriveTable {
    fn of(raw: &Raw, drive: &'static str) -> Result<Self> {
        let run = raw.good_run(drive)?;
        let method = Kernels::resolve(Preset::Quick, &run.session.plan.options)?;
        let skipped: Vec<String> = run.steps("skipped").map(|step| step.id.clone()).collect();
        let systems = method.systems.iter().map(|system| system.id());
        let systems = systems.filter(|id| !skipped.contains(&format!("{id}-skipped"))).collect();
        Ok(Self { drive, run, systems })
    }

    fn under(&self, column: &str, system: &str) -> Result<f64> {
        self.run.value(&format!("{column}-under-{system}"))
    }

    /// Whether a system has all figures but those that it cannot have: f2fs discards nothing
    /// beside a load, so its last discard has no time, which the caveat `discards-wait` says.
    fn is_complete(&self, system: &str) -> bool {
        COLUMNS.into_iter().all(|column| match (column, system) {
            ("all-discarded", "none") => true,
            ("all-discarded", "f2fs") => {
                let waits = Caveat::DiscardsWait.id();
                self.run.session.steps.iter().any(|step| {
                    step.id == "f2fs-deletion" && step.caveats.iter().any(|id| id == waits)
                })
            }
            ("lost", _) if system.starts_with("fstrim-") => true,
            // Their allocators are not modelled.
            ("amplification", _) if !system.contains("ext4") && system != "none" => true,
            _ => self.under(column, system).is_ok(),
        })
    }

    /// A row of the table, in words.
    fn row(&self, system: &str) -> String {
        let cell = |column: &&str| {
            let figure = self.run.session.figure(&format!("{column}-under-{system}"));
            figure.map_or("-".to_owned(), |figure| quantity(figure.value, &figure.unit))
        };
        format!("{system}: {}", COLUMNS.iter().map(cell).collect::<Vec<_>>().join(", "))
    }

    fn findings(&self) -> [Finding; 2] {
        let (drive, count) = (self.drive, self.systems.len() as f64);
        let complete = self.systems.iter().filter(|system| self.is_complete(system)).count() as f64;
        let rows: Vec<String> = self.systems.iter().map(|system| self.row(system)).collect();
        let note = format!("{}. {}", COLUMNS.join(", "), rows.join("; "));
        let elapsed = self.run.capture.elapsed_seconds;
        [
            self.run
                .finding(
                    &format!("{drive}: systems with every figure, of {count}"),
                    (complete, ""),
                    Bar::Within(count.max(12.0), count.max(12.0)),
                )
                .with_note(&note),
            self.run.finding(
                &format!("{drive}: time that it took"),
                (elapsed, "s"),
                Bar::AtMost(SECONDS_MOST),
            ),
        ]
    }
}

/// The figure of a drive that is judged.
type OfDrive<'a> = &'a dyn Fn(&DriveTable) -> Result<f64>;

/// What holds on every drive, at the drive where it holds least.
fn worst(drives: &[DriveTable]) -> Result<Vec<Finding>> {
    let at_worst = |what: &str, unit, bar: Bar, of: OfDrive<'_>| -> Result<Finding> {
        let values: Vec<f64> = drives.iter().map(of).collect::<Result<_>>()?;
        let misses = |value: &f64| !bar.holds(*value);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let figure = values.iter().copied().find(misses).unwrap_or(most);
        let note = format!("from {least:.4} to {most:.4} on the six drives");
        let first = drives.first().context("no drive was measured")?;
        Ok(first.run.finding(what, (figure, unit), bar).with_note(&note))
    };
    let lost = |drive: &DriveTable| -> Result<f64> {
        let lost = WITHIN_COMMIT.map(|system| drive.under("lost", system));
        lost.into_iter().try_fold(0.0, |most: f64, lost| Ok(most.max(lost?)))
    };
    let amplification = |drive: &DriveTable| -> Result<f64> {
        let none = drive.under("amplification", "none")?;
        let all = drive.systems.iter().filter(|system| system.contains("ext4"));
        let all = all.map(|system| drive.under("amplification", system));
        Ok(all.collect::<Result<Vec<f64>>>()?.into_iter().fold(0.0, f64::max) / none)
    };
    let fsync = |drive: &DriveTable| -> Result<f64> {
        Ok(drive.under("longest-fsync", "ext4-2.6.33")? / drive.under("longest-fsync", "ext4")?)
    };
    Ok(vec![
        at_worst("lost at unmount where a commit or a log discards", "%", Bar::Equals(0.0), &lost)?,
        at_worst("lost at unmount under `btrfs-async`", "%", Bar::Equals(100.0), &|drive| {
            drive.under("lost", "btrfs-async")
        })?,
        at_worst(
            "`xfs`: discarded / freed",
            "",
            Bar::Near { value: 1.0, share: 1e-3 },
            &|drive| drive.under("discarded", "xfs"),
        )?,
        at_worst("`ext4`: discarded / freed", "", Bar::Within(1.0, 10.0), &|drive| {
            drive.under("discarded", "ext4")
        })?,
        at_worst("`none`: discarded / freed", "", Bar::Equals(0.0), &|drive| {
            drive.under("discarded", "none")
        })?,
        at_worst(
            "longest fsync under `ext4-2.6.33`, over that under `ext4`",
            "",
            Bar::AtLeast(1.0),
            &fsync,
        )?,
        at_worst(
            "the greatest write amplification over that of `none`",
            "",
            Bar::AtMost(1.1),
            &amplification,
        )?,
    ])
}
