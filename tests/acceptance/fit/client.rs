//! What client drives give back after TRIM and a rest, beside what a reviewer measured.
//!
//! The reviewer filled 80 % of a drive, wrote at random for half an hour, and measured sequential
//! writes at once (*dirty*), after half an hour of rest (*trimmed*), and on the erased drive. What
//! TRIM covered and which file he wrote, he does not say. Ours: everything was written at random;
//! the reviewer's file, a tenth of the drive, is trimmed, and nine tenths stay. Times are scaled as
//! the capacity is. Source: \[CDRL\].

use anyhow::{Context as _, Result};
use trimbench_core::{Bytes, Nanos};
use trimbench_ssd::Profile;

use crate::acceptance::{Bar, Context, Finding, Form, Raw};

/// A drive of the reviews; ratios of sequential writes to those on the erased drive.
struct Reviewed {
    profile: &'static str,
    /// GB.
    capacity: u64,
    dirty: f64,
    trimmed: f64,
}

/// Sequential writes in MB/s: 475.83, 1797.74 and 1973.73; 269.29, 1153.22 and 3762.51.
const REVIEWED: [Reviewed; 2] = [
    Reviewed {
        profile: "like-960-pro",
        capacity: 512,
        dirty: 475.83 / 1973.73,
        trimmed: 1797.74 / 1973.73,
    },
    Reviewed {
        profile: "like-us70",
        capacity: 1_000,
        dirty: 269.29 / 3762.51,
        trimmed: 1153.22 / 3762.51,
    },
];
/// Of the emulated drive, and of the twin that is fitted.
const CAPACITY: Bytes = Bytes::gib(8);
const TWIN: Bytes = Bytes::gib(4);
/// How long the reviewer wrote at random, and let the drive rest.
const HALF_AN_HOUR: Nanos = Nanos::from_secs(1_800);
/// Rests, by their names, in halves of the reviewer's.
const RESTS: [(&str, u64); 3] = [("half", 1), ("whole", 2), ("twice", 4)];
const PART: &str = "part=10%";
/// How far off a ratio may be.
const OFF: f64 = 0.15;
/// How far the share that is fitted on a smaller scaling is from the profile's: a factor.
const SHARE_OFF: f64 = 1.5;
/// A longer rest gives no less back, to this.
const ORDER: f64 = 0.02;
const FREE: &str = "collector.idle_share=0.5%..50%";

impl Reviewed {
    /// A time of the reviewer on so much smaller a drive.
    fn scaled(&self, time: Nanos, capacity: Bytes) -> Nanos {
        let whole = u128::from(self.capacity) * 1_000_000_000;
        let scaled = u128::from(time.0) * u128::from(capacity.0) / whole;
        Nanos(u64::try_from(scaled).unwrap_or(time.0))
    }

    /// The options of `recovery`, for a rest of so many quarters of an hour.
    fn options(&self, capacity: Bytes, quarters: u64) -> Vec<String> {
        let torture = self.scaled(HALF_AN_HOUR, capacity);
        let rest = self.scaled(Nanos(HALF_AN_HOUR.0 / 2 * quarters), capacity);
        let fixed = ["span=all", PART, "torture-rest=0s"].map(str::to_owned);
        [format!("torture={torture}"), format!("rest={rest}")].into_iter().chain(fixed).collect()
    }

    /// The table of its figures, to fit to.
    fn table(&self) -> String {
        let options = self.options(TWIN, 2).join(" ");
        let row = |figure: &str, value: f64| format!("recovery,{options},{figure},{value},\n");
        let header = "method,options,figure,value,unit\n".to_owned();
        header + &row("fragmented-of-fresh", self.dirty) + &row("trimmed-of-fresh", self.trimmed)
    }
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    for drive in &REVIEWED {
        let target = format!("sim:{},capacity={CAPACITY}", drive.profile);
        for (name, quarters) in RESTS {
            let options = drive.options(CAPACITY, quarters);
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let name = format!("{}-{name}", drive.profile);
            context.run_well(&name, "recovery", (&target, &options))?;
        }
        if context.form() == Form::Full {
            fit(context, drive)?;
        }
    }
    Ok(())
}

/// Finds the share of idle time anew.
fn fit(context: &Context<'_>, drive: &Reviewed) -> Result<()> {
    let table = context.folder().join(format!("{}.csv", drive.profile));
    std::fs::write(&table, drive.table()).context("write a table of figures")?;
    let (table, capacity) = (table.display().to_string(), TWIN.to_string());
    let arguments =
        ["fit", "--table", &table, "--base", drive.profile, "--free", FREE, "--capacity"];
    let arguments: Vec<&str> =
        arguments.into_iter().chain([&*capacity, "--quiet", "--output-format", "json"]).collect();
    let name = format!("{}-fit", drive.profile);
    // One parameter cannot give two figures exactly, and the fit says so with its exit code.
    context.capture(&name, &mut context.trimbench(&arguments)?)?;
    Ok(())
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for drive in &REVIEWED {
        let run = |name: &str| raw.good_run(&format!("{}-{name}", drive.profile));
        let whole = run("whole")?;
        let rested = whole.value("trimmed-of-fresh")?;
        let dirty = whole.value("fragmented-of-fresh")?;
        for (what, ours, theirs) in
            [("dirty", dirty, drive.dirty), ("after TRIM and a rest", rested, drive.trimmed)]
        {
            let what = format!("{}, {what}, over erased", drive.profile);
            let bar = Bar::Within((theirs - OFF).max(0.0), theirs + OFF);
            let note = format!("the reviewer's {theirs:.4}");
            findings.push(whole.finding(&what, (ours, ""), bar).with_note(&note));
        }
        for (name, bar) in
            [("half", Bar::AtMost(rested + ORDER)), ("twice", Bar::AtLeast(rested - ORDER))]
        {
            let (what, run) = (
                format!("{}, after {name} the rest, over erased: predicted", drive.profile),
                run(name)?,
            );
            findings.push(run.finding(&what, (run.value("trimmed-of-fresh")?, ""), bar));
        }
        if raw.form() == Form::Full {
            findings.push(fitted(raw, drive)?);
        }
    }
    Ok(findings)
}

/// The share of idle time that a fit finds, over the profile's.
fn fitted(raw: &Raw, drive: &Reviewed) -> Result<Finding> {
    let run = raw.capture(&format!("{}-fit", drive.profile))?;
    let found = raw.json(&run.output)?;
    let best = found["parameters"][0]["numbers"][0].as_f64().context("a fit without a value")?;
    let profile = Profile::built_in(drive.profile).context("no such profile")?;
    let share = best / f64::from(profile.config.gc.idle_share.0);
    let what =
        format!("{}: share of idle time that a fit finds, over the profile's", drive.profile);
    let note = format!("{:.2} %", best / 1e4);
    let bar = Bar::Within(1.0 / SHARE_OFF, SHARE_OFF);
    Ok(Finding::new(&what, (share, ""), bar, &run).with_note(&note))
}
