//! Claim `drives.7`: zones that are written whole and discarded before they are written anew, on
//! real drives and on the emulated drives of their names: rates, and write amplification.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use trimbench_core::units::rounded;
use trimbench_core::{Bytes, Nanos};
use trimbench_ssd::{Profile, TrimConfig};

use super::courses::{ROUNDS_LEAST, last_fifth, residual, steady};
use super::{keep_table, optional_number, rounds, rows};
use crate::acceptance::{Bar, Context, Finding, Form, Raw, short};

#[cfg(test)]
mod tests;

/// The figures, with their source in the page beside them.
const ZONES: &str = "docs/drives/zones.csv";
const KEPT: &str = "zones.csv";
/// The writes of the source.
const ACCESS: Bytes = Bytes(512 << 10);
/// Superblocks of the emulated drives. Drive and zones shrink with them.
const SUPERBLOCK: Bytes = Bytes::mib(32);
/// Zones are drawn: what is compared is the mean of so many runs.
const SEEDS: u64 = 4;
/// Mean over the tenths of |ln(ours / real)|.
const COURSE_MOST: f64 = 0.10;
/// |ours / real - 1| of the write amplification.
const AMPLIFICATION_MOST: f64 = 0.05;

/// A drive, and how large its superblocks are.
struct Drive {
    name: &'static str,
    /// A block of every plane: dies x 4 planes x layers x 4 strings x 3 bits x 16 KiB, with as many
    /// dies of 512 Gbit as the flash takes. The layers are published; the rest is what is usual.
    superblock: Bytes,
    /// Its host limited the fresh rate: ours gets the host of each run.
    host_limits: bool,
}

const DRIVES: [Drive; 4] = [
    // 16 dies, 176 layers.
    Drive { name: "micron-7450-max-800", superblock: Bytes::mib(2_112), host_limits: false },
    // 64 dies, 112 layers.
    Drive { name: "kioxia-cm7-r-3840", superblock: Bytes::mib(5_376), host_limits: true },
    // 32 dies, 144 layers.
    Drive { name: "solidigm-p5520-1920", superblock: Bytes::mib(3_456), host_limits: false },
    // 16 dies; the source does not name the model: 96 layers assumed.
    Drive { name: "wd-dc-960", superblock: Bytes::mib(1_152), host_limits: false },
];

/// One run of a real drive.
#[derive(Clone, Debug)]
struct Run {
    drive: String,
    /// Bytes of the whole drive.
    exported: Bytes,
    active: u32,
    /// Writes of a zone.
    writes: u64,
    /// By the drive's own counter over the last fifth, where its log is public.
    amplification: Option<f64>,
    /// IOPS of each tenth of a drive write.
    tenths: Vec<f64>,
}

impl Run {
    fn read(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [drive, _, _, _, exported, active, writes, amplification, tenths] = fields[..] else {
            anyhow::bail!("`{line}` is no run of zones");
        };
        let number = |text: &str| text.parse::<f64>().with_context(|| format!("`{text}`"));
        Ok(Self {
            drive: drive.to_owned(),
            exported: Bytes(exported.parse()?),
            active: active.parse()?,
            writes: writes.parse()?,
            amplification: optional_number(amplification)?,
            tenths: tenths.split(' ').map(number).collect::<Result<_>>()?,
        })
    }

    fn of(&self) -> Result<&'static Drive> {
        let drive = DRIVES.iter().find(|drive| drive.name == self.drive);
        drive.with_context(|| format!("the superblocks of {} are not known", self.drive))
    }

    /// The raw output of the run with this seed.
    fn name(&self, index: usize, seed: u64) -> String {
        format!("{index:02}-{}-{}x{}-{seed}", self.drive, self.writes, self.active)
    }

    /// The zones as a note has them.
    fn zones(&self) -> String {
        let gib = self.writes as f64 * ACCESS.0 as f64 / (1_u64 << 30) as f64;
        format!("{} GiB, {} at a time", short(gib), self.active)
    }

    /// So many bytes where the drive is as small as its superblocks are.
    fn scaled(&self, bytes: Bytes) -> Result<f64> {
        Ok(bytes.0 as f64 * SUPERBLOCK.0 as f64 / self.of()?.superblock.0 as f64)
    }

    /// The emulated drive.
    fn target(&self, capacity: Bytes) -> Result<String> {
        let profile = Profile::built_in(&self.drive).context("a profile of that name")?.config;
        let mut target = format!(
            "sim:{},capacity={capacity},geometry.superblock={SUPERBLOCK},fill=none",
            self.drive
        );
        // What a discard takes whatever its size, and what of it costs nothing, come once a zone.
        let TrimConfig { command, latency, uncharged, .. } = profile.trim;
        for (key, time) in [("command", command), ("latency", latency)] {
            let scaled = rounded(self.scaled(Bytes(time.0))?);
            let _ = write!(target, ",trim.{key}={scaled}ns");
        }
        let _ = write!(target, ",trim.uncharged={}B", rounded(self.scaled(uncharged)?));
        if self.of()?.host_limits {
            let host = profile.host;
            let link = Nanos::from_seconds(ACCESS.0 as f64 / host.link_rate.0 as f64);
            let each = Nanos::from_seconds(1.0 / self.tenths[0]);
            let command = each.0 - link.0 - host.latency.0;
            let _ = write!(target, ",host.command={command}ns");
        }
        Ok(target)
    }

    fn options(&self, capacity: Bytes, trimmed: bool) -> Result<Vec<String>> {
        let zone = Bytes(rounded(self.scaled(Bytes(self.writes))?) * ACCESS.0);
        let trimmed = if trimmed { "-trimmed" } else { "" };
        Ok(vec![
            format!("span={capacity}"),
            format!("pattern=zones-{zone}-{}{trimmed}", self.active),
            format!("access={ACCESS}"),
            "queue-depth=1".to_owned(),
            format!("rounds-max={ROUNDS_LEAST}"),
            format!("ageing-rounds={}", self.tenths.len() - ROUNDS_LEAST),
            "precondition=100%".to_owned(),
            "round-share=10%".to_owned(),
            "settle-rounds=0".to_owned(),
            "trimmed-shares=0".to_owned(),
        ])
    }
}

/// All runs of the drives that a form runs, in their order.
fn runs(text: &str, form: Form) -> Result<Vec<Run>> {
    rows(text, form, Run::read)
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let text = keep_table(context, ZONES, KEPT)?;
    for (index, run) in runs(&text, context.form())?.iter().enumerate() {
        let capacity = Bytes(rounded(run.scaled(run.exported)?) / ACCESS.0 * ACCESS.0);
        let target = run.target(capacity)?;
        // One more without TRIM, where the source says what the drive counts.
        let without = run.amplification.map(|_| (0, false));
        for (seed, trimmed) in (1..=SEEDS).map(|seed| (seed, true)).chain(without) {
            let options = run.options(capacity, trimmed)?;
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let name = run.name(index, seed);
            let mut command = context.run("steady-state", &target, &options)?;
            command.args(["--seed", &seed.to_string()]);
            command.arg("--output").arg(context.folder().join(&name));
            // What the rounds say is what counts here, not whether they are steady.
            let status = context.capture(&name, &mut command)?.status;
            ensure!(matches!(status, Some(0 | 4)), "{name} ended with {status:?}");
        }
    }
    Ok(())
}

/// A run and ours.
struct Compared<'a> {
    run: &'a Run,
    name: String,
    residual: f64,
    /// IOPS of the last fifth, ours and the real ones.
    steady: String,
    /// The logarithm of the factor that brings ours to the real rate on average, and what is left
    /// after it: how far the course's shape is off, which is what the pattern explains.
    factor: f64,
    after: f64,
    /// Write amplification over the last fifth, and without TRIM.
    amplification: f64,
    untrimmed: Option<f64>,
}

impl<'a> Compared<'a> {
    fn read(raw: &Raw, run: &'a Run, index: usize) -> Result<Self> {
        let rounds = |seed| rounds(raw, &run.name(index, seed), run.tenths.len());
        let seeds = (1..=SEEDS).map(rounds).collect::<Result<Vec<_>>>()?;
        // A tenth is the same work in each: times are what has a mean.
        let ours = (0..run.tenths.len()).map(|tenth| {
            let iops = seeds.iter().filter_map(|steps| steps[tenth].metric("iops"));
            SEEDS as f64 / iops.map(|iops| 1.0 / iops).sum::<f64>()
        });
        let logs: Vec<f64> = ours.zip(&run.tenths).map(|(ours, real)| (ours / real).ln()).collect();
        let factor = logs.iter().sum::<f64>() / logs.len() as f64;
        let amplifications: Option<Vec<f64>> = seeds.iter().map(|it| last_fifth(it)).collect();
        let amplifications = amplifications.context("the drive counts what it programs")?;
        let untrimmed = match run.amplification {
            Some(_) => last_fifth(&rounds(0)?),
            None => None,
        };
        Ok(Self {
            run,
            name: run.name(index, 1),
            residual: residual(&logs, 0.0),
            steady: steady(&run.tenths, &logs),
            factor,
            after: residual(&logs, factor),
            amplification: amplifications.iter().sum::<f64>() / SEEDS as f64,
            untrimmed,
        })
    }

    /// How far the write amplification is off, as a share.
    fn off(&self) -> Option<f64> {
        Some((self.amplification / self.run.amplification? - 1.0).abs())
    }
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let runs = runs(&raw.text(KEPT)?, raw.form())?;
    let compared = runs.iter().enumerate().map(|(index, run)| Compared::read(raw, run, index));
    let compared = compared.collect::<Result<Vec<_>>>()?;
    let mut findings = Vec::new();
    for drive in &DRIVES {
        let of = || compared.iter().filter(|it| it.run.drive == drive.name);
        if let Some(worst) = of().max_by(|one, other| one.residual.total_cmp(&other.residual)) {
            let what = format!("{}: the worst course of zones with TRIM", drive.name);
            let notes = of().map(|it| {
                let (residual, after) = (short(it.residual), short(it.after));
                let by = short(it.factor.exp());
                let mut note =
                    format!("{}: {residual}, {after} after a factor of {by}", it.run.zones());
                if it.run.amplification.is_none() {
                    let _ = write!(note, ", write amplification {}", short(it.amplification));
                }
                let _ = write!(note, ", {}", it.steady);
                note
            });
            let notes: Vec<String> = notes.collect();
            let (value, bar) = ((worst.residual, ""), Bar::AtMost(COURSE_MOST));
            let finding = Finding::new(&what, value, bar, &raw.capture(&worst.name)?);
            findings.push(finding.with_note(&notes.join("; ")));
        }
        let counted = || of().filter_map(|it| Some((it.off()?, it)));
        if let Some((off, worst)) = counted().max_by(|one, other| one.0.total_cmp(&other.0)) {
            let what =
                format!("{}: write amplification of zones with TRIM, furthest off", drive.name);
            let notes = counted().map(|(_, it)| {
                let real = it.run.amplification.unwrap_or_default();
                let without = it.untrimmed.map_or_else(|| "unknown".to_owned(), short);
                let ours = short(it.amplification);
                format!("{}: {ours} for {real} ({without} without TRIM)", it.run.zones())
            });
            let notes: Vec<String> = notes.collect();
            let (value, bar) = ((off, ""), Bar::AtMost(AMPLIFICATION_MOST));
            let finding = Finding::new(&what, value, bar, &raw.capture(&worst.name)?);
            findings.push(finding.with_note(&notes.join("; ")));
        }
    }
    Ok(findings)
}
