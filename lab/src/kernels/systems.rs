//! The method `kernels` on six drives of different modes of TRIM: the same deletions under each
//! filesystem and era, and what the sources of the kernels say of them.

use anyhow::Result;
use tests::program::Run;
use trimbench_core::Caveat;
use trimbench_engine::{MethodDefinition as _, Preset};
use trimbench_methods::kernels::Kernels;
use trimbench_results::number::quantity;

use crate::entry::{EMULATED, Entry};
use crate::figure::{Bar, Figure};
use crate::lab::Lab;

/// The table of each drive, and what the sources say of all.
pub(crate) const ENTRY: Entry = Entry {
    name: "systems",
    title: "The same deletions under each filesystem and era, on six drives",
    needs: &[],
    sources: EMULATED,
    run,
};

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
/// Systems that are compared, those skipped apart.
const SYSTEMS_LEAST: f64 = 12.0;
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

/// What holds on every drive: what it is, its unit, its bar, and the figure of a drive.
type OfAllDrives = (&'static str, &'static str, Bar, fn(&DriveTable) -> Result<f64>);

const OF_ALL: [OfAllDrives; 7] = [
    ("lost at unmount where a commit or a log discards", "%", Bar::Equals(0.0), |drive| {
        WITHIN_COMMIT.iter().try_fold(0.0, |most: f64, it| Ok(most.max(drive.under("lost", it)?)))
    }),
    ("lost at unmount under `btrfs-async`", "%", Bar::Equals(100.0), |drive| {
        drive.under("lost", "btrfs-async")
    }),
    ("`xfs`: discarded / freed", "", Bar::Near { value: 1.0, share: 1e-3 }, |drive| {
        drive.under("discarded", "xfs")
    }),
    ("`ext4`: discarded / freed", "", Bar::Within(1.0, 10.0), |drive| {
        drive.under("discarded", "ext4")
    }),
    ("`none`: discarded / freed", "", Bar::Equals(0.0), |drive| drive.under("discarded", "none")),
    ("longest fsync under `ext4-2.6.33`, over that under `ext4`", "", Bar::AtLeast(1.0), |drive| {
        Ok(drive.under("longest-fsync", "ext4-2.6.33")? / drive.under("longest-fsync", "ext4")?)
    }),
    ("the greatest write amplification over that of `none`", "", Bar::AtMost(1.1), |drive| {
        let all = drive.systems.iter().filter(|system| system.contains("ext4"));
        let most = all.map(|system| drive.under("amplification", system));
        let most = most.collect::<Result<Vec<f64>>>()?.into_iter().fold(0.0, f64::max);
        Ok(most / drive.under("amplification", "none")?)
    }),
];

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let options: &[&str] = lab.form(&["drive-writes=2"], &[]);
    let mut drives = Vec::new();
    for drive in DRIVES {
        let run = lab.run("kernels", &format!("ext4:sim:{drive}"), options)?;
        drives.push(DriveTable::of(drive, run)?);
    }
    let mut figures: Vec<Figure> = drives.iter().flat_map(DriveTable::figures).collect();
    for row in OF_ALL {
        figures.push(at_worst(&drives, row)?);
    }
    Ok(figures)
}

/// The figure of the drive where it holds least.
fn at_worst(drives: &[DriveTable], (what, unit, bar, of): OfAllDrives) -> Result<Figure> {
    let values = drives.iter().map(of).collect::<Result<Vec<f64>>>()?;
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let missed = values.iter().copied().find(|value| !bar.holds(*value));
    let note = format!("from {least:.4} to {most:.4} on the six drives");
    Ok(Figure::new(what, (missed.unwrap_or(most), unit), bar).with_note(note))
}

/// The table of one drive.
struct DriveTable {
    drive: &'static str,
    run: Run,
    /// The systems that were not skipped.
    systems: Vec<&'static str>,
}

impl DriveTable {
    fn of(drive: &'static str, run: Run) -> Result<Self> {
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
                let deletion = self.run.step("f2fs-deletion");
                deletion.is_ok_and(|step| step.caveats.iter().any(|id| id == waits))
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

    fn figures(&self) -> [Figure; 2] {
        let (drive, count) = (self.drive, self.systems.len() as f64);
        let complete = self.systems.iter().filter(|system| self.is_complete(system)).count() as f64;
        let rows: Vec<String> = self.systems.iter().map(|system| self.row(system)).collect();
        let what = format!("{drive}: systems with every figure, of {count}");
        let seconds = (self.run.output.seconds, "s");
        [
            Figure::new(what, (complete, ""), Bar::Equals(count.max(SYSTEMS_LEAST)))
                .with_note(format!("{}. {}", COLUMNS.join(", "), rows.join("; "))),
            Figure::new(format!("{drive}: time that it took"), seconds, Bar::AtMost(SECONDS_MOST)),
        ]
    }
}
