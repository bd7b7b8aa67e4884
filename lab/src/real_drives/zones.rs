//! Zones that are written whole and discarded before they are written anew, on real drives and on
//! the emulated drives of their names: rates, and write amplification.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use trimbench_core::units::rounded;
use trimbench_core::{Bytes, Nanos};
use trimbench_ssd::{Profile, TrimConfig};

use super::courses::{ROUNDS_LEAST, furthest_of, last_fifth, residual, steady, worst_of};
use super::{SOURCES, numbers, optional_number, rounds, rows_of_form};
use crate::entry::Entry;
use crate::figure::{Figure, FigureStanding, RealFigure, RealValue, short};
use crate::lab::Lab;

#[cfg(test)]
mod tests;

/// The entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "zones",
    title: "Zones of 1.06 to 16 GiB that are discarded and written whole, 1 to 8 at a time, run \
            and wear as on drives of four names; nothing is fitted to them",
    needs: &[],
    sources: SOURCES,
    run,
};

/// The figures, with their source in the page beside them.
const ZONES: &str = "docs/drives/zones.csv";
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
struct SuperblockSize {
    drive: &'static str,
    /// A block of every plane: dies x 4 planes x layers x 4 strings x 3 bits x 16 KiB, with as many
    /// dies of 512 Gbit as the flash takes. The layers are published; the rest is what is usual.
    superblock: Bytes,
    /// Its host limited the fresh rate: ours gets the host of each run.
    host_limits: bool,
}

const DRIVES: [SuperblockSize; 4] = [
    // 16 dies, 176 layers.
    SuperblockSize::of("micron-7450-max-800", 2_112),
    // 64 dies, 112 layers.
    SuperblockSize { host_limits: true, ..SuperblockSize::of("kioxia-cm7-r-3840", 5_376) },
    // 32 dies, 144 layers.
    SuperblockSize::of("solidigm-p5520-1920", 3_456),
    // 16 dies; the source does not name the model: 96 layers assumed.
    SuperblockSize::of("wd-dc-960", 1_152),
];

impl SuperblockSize {
    const fn of(drive: &'static str, mebibytes: u64) -> Self {
        Self { drive, superblock: Bytes::mib(mebibytes), host_limits: false }
    }
}

/// One run of a real drive.
#[derive(Clone, Debug)]
struct ZoneRun {
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

impl ZoneRun {
    fn read(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [drive, _, _, _, exported, active, writes, amplification, tenths] = fields[..] else {
            anyhow::bail!("`{line}` is no run of zones");
        };
        Ok(Self {
            drive: drive.to_owned(),
            exported: Bytes(exported.parse()?),
            active: active.parse()?,
            writes: writes.parse()?,
            amplification: optional_number(amplification)?,
            tenths: numbers(tenths)?,
        })
    }

    fn of(&self) -> Result<&'static SuperblockSize> {
        let drive = DRIVES.iter().find(|it| it.drive == self.drive);
        drive.with_context(|| format!("the superblocks of {} are not known", self.drive))
    }

    /// Its name beside others of the same drive.
    fn name(&self) -> String {
        let gib = self.writes as f64 * ACCESS.0 as f64 / (1_u64 << 30) as f64;
        format!("zones of {} GiB, {} at a time", short(gib), self.active)
    }

    /// So many bytes where the drive is as small as its superblocks are.
    fn scaled(&self, bytes: Bytes) -> Result<f64> {
        Ok(bytes.0 as f64 * SUPERBLOCK.0 as f64 / self.of()?.superblock.0 as f64)
    }

    /// Of the emulated drive.
    fn capacity(&self) -> Result<Bytes> {
        Ok(Bytes(rounded(self.scaled(self.exported)?) / ACCESS.0 * ACCESS.0))
    }

    /// The emulated drive.
    fn target(&self) -> Result<String> {
        let profile = Profile::built_in(&self.drive).context("a profile of that name")?.config;
        let mut target = format!(
            "sim:{},capacity={},geometry.superblock={SUPERBLOCK},fill=none",
            self.drive,
            self.capacity()?
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

    fn options(&self, trimmed: bool) -> Result<Vec<String>> {
        let zone = Bytes(rounded(self.scaled(Bytes(self.writes))?) * ACCESS.0);
        let trimmed = if trimmed { "-trimmed" } else { "" };
        Ok(vec![
            format!("span={}", self.capacity()?),
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

    /// Runs ours with several seeds: the course beside the real one, and the write amplification
    /// beside what the real drive counted.
    fn figures(&self, lab: &Lab<'_>) -> Result<(RealFigure, Option<RealFigure>)> {
        let (target, count) = (self.target()?, self.tenths.len());
        let trimmed = self.options(true)?;
        let seeds = (1..=SEEDS).map(|seed| rounds(lab, (&target, &trimmed), seed, count));
        let seeds = seeds.collect::<Result<Vec<_>>>()?;
        // A tenth is the same work in each: times are what has a mean.
        let ours = (0..count).map(|tenth| {
            let times = seeds.iter().map(|rounds| 1.0 / rounds[tenth].iops);
            SEEDS as f64 / times.sum::<f64>()
        });
        let ours: Vec<f64> = ours.collect();
        let worn: Option<Vec<f64>> = seeds.iter().map(|rounds| last_fifth(rounds)).collect();
        let worn = worn.context("the drive counts what it programs")?;
        let worn = worn.iter().sum::<f64>() / SEEDS as f64;
        // Once more without TRIM, where the source says what the drive counts.
        let counted = self.amplification.map(|_| {
            let untrimmed = rounds(lab, (&target, &self.options(false)?), 0, count)?;
            anyhow::Ok(self.worn(worn, last_fifth(&untrimmed)))
        });
        Ok((self.course(&ours, worn), counted.transpose()?.flatten()))
    }

    /// The course beside the real one. What is left after the factor that brings ours to the real
    /// rate on average is how far the course's shape is off, which is what the pattern explains.
    fn course(&self, ours: &[f64], worn: f64) -> RealFigure {
        let logs = ours.iter().zip(&self.tenths).map(|(ours, real)| (ours / real).ln());
        let logs: Vec<f64> = logs.collect();
        let factor = logs.iter().sum::<f64>() / logs.len() as f64;
        let (off, after) = (residual(&logs, 0.0), short(residual(&logs, factor)));
        let mut remark = format!("{after} after a factor of {}", short(factor.exp()));
        if self.amplification.is_none() {
            let _ = write!(remark, ", write amplification {}", short(worn));
        }
        let called = (&*self.drive, self.name());
        let figure = steady(called, FigureStanding::Compared, (&self.tenths, &logs));
        RealFigure { off: Some(off), holds: off <= COURSE_MOST, remark, ..figure }
    }

    /// The write amplification beside the real one; and what it is without TRIM.
    fn worn(&self, ours: f64, untrimmed: Option<f64>) -> Option<RealFigure> {
        let real = self.amplification?;
        let figure = RealFigure::new(
            (&self.drive, format!("write amplification, {}", self.name())),
            FigureStanding::Compared,
            (Some(ours), RealValue::Exactly(real), ""),
            (ours / real - 1.0).abs() <= AMPLIFICATION_MOST,
        );
        let without = untrimmed.map_or_else(|| "unknown".to_owned(), short);
        Some(RealFigure { remark: format!("{without} without TRIM"), ..figure })
    }
}

fn run(lab: &Lab<'_>) -> Result<Vec<Figure>> {
    let runs = rows_of_form(lab, ZONES, ZoneRun::read)?;
    let measured: Result<Vec<_>> = runs.iter().map(|run| run.figures(lab)).collect();
    let (courses, worn): (Vec<_>, Vec<_>) = measured?.into_iter().unzip();
    Ok(judged(&courses, &worn.into_iter().flatten().collect::<Vec<_>>()))
}

/// The worst course and the write amplification that is furthest off, of each drive.
fn judged(courses: &[RealFigure], worn: &[RealFigure]) -> Vec<Figure> {
    let of_drive = |SuperblockSize { drive, .. }: &SuperblockSize| {
        let of = |all: &[RealFigure]| all.iter().filter(|it| it.drive == *drive).cloned().collect();
        let course = format!("{drive}: the worst course of zones with TRIM");
        let furthest = format!("{drive}: write amplification of zones with TRIM, furthest off");
        [
            worst_of(&course, COURSE_MOST, of(courses)),
            furthest_of(&furthest, AMPLIFICATION_MOST, of(worn)),
        ]
    };
    DRIVES.iter().flat_map(of_drive).flatten().collect()
}
