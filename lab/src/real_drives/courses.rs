//! The course of the write rate of real drives, which were written with several patterns from fresh
//! to steady, and that of the emulated drives of their names.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use trimbench_core::Bytes;
use trimbench_core::units::rounded;
use trimbench_engine::WearStep;

use super::{
    DriveRound, SOURCES, number, numbers, optional_number, rounds, rows, rows_of_form, table,
};
use crate::entry::Entry;
use crate::figure::{Bar, Figure, FigureStanding, RealFigure, RealValue, short};
use crate::lab::Lab;

#[cfg(test)]
mod tests;

/// The entry.
pub(crate) const ENTRY: Entry = Entry {
    name: "courses",
    title: "Emulated drives of four names write as fast as those over the whole course, from fresh \
            to steady; three values of each profile are fitted to one run of uniform writes",
    needs: &[],
    sources: SOURCES,
    run: |lab| figures_of(lab, str::to_owned),
};

/// The figures, with their source in the page beside them.
const COURSES: &str = "docs/drives/courses.csv";
/// The capacity to which the drives are scaled.
const CAPACITY: Bytes = Bytes::gib(16);
/// The rounds of the method before its own criterion may hold.
pub(super) const ROUNDS_LEAST: usize = 5;
/// |ours / real - 1| of the write amplification, where the real drive's counter is public.
const AMPLIFICATION_MOST: f64 = 0.02;

/// A drive, and how far its courses may be off.
struct CourseBar {
    drive: &'static str,
    /// Mean over the tenths of |ln(ours / real)|, of the worst course.
    most: f64,
    /// Its host limited the fresh rate: ours gets the host of each course.
    host_limits: bool,
    /// The real drive differs from campaign to campaign: one factor a campaign, from its rows that
    /// are there to be fitted.
    by_campaign: bool,
    /// Another campaign than the profile's, and the over-provisioning that its fitted run asks for.
    /// With it the write amplification of that campaign is judged. It explains the rates of runs of
    /// both without any factor, too, which is said beside the verdict.
    other_spare: Option<(&'static str, &'static str)>,
}

const DRIVES: [CourseBar; 4] = [
    CourseBar::of("micron-7450-max-800", 0.03),
    CourseBar { host_limits: true, ..CourseBar::of("kioxia-cm7-r-3840", 0.03) },
    CourseBar {
        by_campaign: true,
        other_spare: Some(("finalinit07", "18.4%")),
        ..CourseBar::of("solidigm-p5520-1920", 0.06)
    },
    CourseBar::of("wd-dc-960", 0.08),
];

impl CourseBar {
    const fn of(drive: &'static str, most: f64) -> Self {
        Self { drive, most, host_limits: false, by_campaign: false, other_spare: None }
    }
}

/// One run of a real drive.
#[derive(Clone, Debug)]
struct DriveCourse {
    drive: String,
    campaign: String,
    fitted: bool,
    pattern: String,
    /// GiB of the drive that were in use.
    used: f64,
    /// By the drive's own counter over the last fifth, where its log is public.
    amplification: Option<f64>,
    /// IOPS of each tenth of a drive write.
    tenths: Vec<f64>,
}

impl DriveCourse {
    fn read(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [drive, campaign, _, split, pattern, used, amplification, tenths] = fields[..] else {
            anyhow::bail!("`{line}` is no course");
        };
        Ok(Self {
            drive: drive.to_owned(),
            campaign: campaign.to_owned(),
            fitted: split == "fit",
            pattern: pattern.to_owned(),
            used: number(used)?,
            amplification: optional_number(amplification)?,
            tenths: numbers(tenths)?,
        })
    }

    /// What the host of this run is, where that limited the fresh rate.
    fn host(&self) -> Result<Option<String>> {
        let command = rounded(1e9 / self.tenths[0]);
        Ok(self.bar()?.host_limits.then(|| format!("host.command={command}ns")))
    }

    /// The options of `steady-state` for it, where this share of the drive is in use; less the
    /// span.
    fn options(&self, share: f64) -> Vec<String> {
        // The method's rounds are shares of what is in use, the tenths those of the whole drive.
        let tenth = 10.0 / share;
        let more = self.tenths.len() - ROUNDS_LEAST;
        let set = [
            format!("pattern={}", self.pattern),
            format!("rounds-max={ROUNDS_LEAST}"),
            format!("ageing-rounds={more}"),
            format!("round-share={tenth:.4}%"),
        ];
        let fixed = ["precondition=100%", "queue-depth=512", "settle-rounds=0", "trimmed-shares=0"];
        set.into_iter().chain(fixed.map(str::to_owned)).collect()
    }

    fn bar(&self) -> Result<&'static CourseBar> {
        let bar = DRIVES.iter().find(|bar| bar.drive == self.drive);
        bar.with_context(|| format!("{} has no bar", self.drive))
    }

    /// ln(ours / real) of each tenth.
    fn logs(&self, rounds: &[DriveRound]) -> Vec<f64> {
        let both = rounds.iter().zip(&self.tenths);
        both.map(|(ours, real)| (ours.iops / real).ln()).collect()
    }

    /// Its name beside others of the same drive.
    fn name(&self) -> String {
        format!("{} ({}, {} GiB)", self.pattern, self.campaign, self.used)
    }
}

/// The run of a drive to which its profile is fitted, as a table of figures for `trimbench fit`,
/// each known to so many percent; and the setting of its host.
pub(crate) fn fitted_run(
    lab: &Lab<'_>,
    (drive, campaign): (&str, &str),
    percent: f64,
) -> Result<(String, Option<String>)> {
    let all = rows(&table(lab, COURSES)?, DriveCourse::read)?;
    let is_it = |it: &&DriveCourse| it.drive == drive && it.campaign == campaign && it.fitted;
    let course = all.iter().find(is_it).with_context(|| format!("no run of {drive} is fitted"))?;
    let options = course.options(1.0).join(" ");
    let mut text = "method,options,figure,value,unit,percent\n".to_owned();
    for (tenth, iops) in course.tenths.iter().enumerate() {
        // The method's own rounds, and those that follow.
        let step = match tenth.checked_sub(ROUNDS_LEAST) {
            None => format!("trimmed-0-round-{}", tenth + 1),
            Some(after) => format!("ageing-round-{}", after + 1),
        };
        let _ = writeln!(text, "steady-state,{options},{step}.iops,{iops},,{percent}");
    }
    Ok((text, course.host()?))
}

/// All figures, with other profiles: `profile` names, or is the file of, that of a drive.
pub(crate) fn figures_of(lab: &Lab<'_>, profile: impl Fn(&str) -> String) -> Result<Vec<Figure>> {
    let courses = rows_of_form(lab, COURSES, DriveCourse::read)?;
    let mut runs = Vec::new();
    for course in &courses {
        let same = courses.iter().filter(|it| it.drive == course.drive);
        // The whole drive is the most of it that any course used.
        let whole = same.map(|it| it.used).fold(0.0, f64::max);
        runs.push(CourseRun::of(lab, course, course.used / whole, &profile(&course.drive))?);
    }
    Ok(DRIVES.iter().flat_map(|bar| judged(bar, &runs)).collect())
}

/// What the worst of a drive's courses that are predicted is called.
pub(crate) fn worst_predicted(drive: &str) -> String {
    worst(drive, FigureStanding::Predicted)
}

fn worst(drive: &str, standing: FigureStanding) -> String {
    format!("{drive}: the worst course that is {}", standing.name())
}

/// A course and ours.
struct CourseRun<'a> {
    course: &'a DriveCourse,
    /// ln(ours / real) of each tenth, and with the other over-provisioning.
    logs: Vec<f64>,
    other: Option<Vec<f64>>,
    /// Our write amplification over the last fifth, with the spare space of its campaign.
    amplification: Option<f64>,
}

impl<'a> CourseRun<'a> {
    /// Runs the course where this share of the drive is in use.
    fn of(lab: &Lab<'_>, course: &'a DriveCourse, share: f64, profile: &str) -> Result<Self> {
        let mut target = format!("sim:{profile},capacity={CAPACITY},fill=none");
        if let Some(setting) = course.host()? {
            let _ = write!(target, ",{setting}");
        }
        let mut options = course.options(share);
        options.push(format!("span={}", Bytes(rounded(CAPACITY.0 as f64 * share))));
        let count = course.tenths.len();
        let own = rounds(lab, (&target, &options), 1, count)?;
        let mut run =
            Self { course, logs: course.logs(&own), other: None, amplification: last_fifth(&own) };
        if let Some((campaign, spare)) = course.bar()?.other_spare {
            let target = format!("{target},drive.over_provisioning={spare}");
            let other = rounds(lab, (&target, &options), 1, count)?;
            run.other = Some(course.logs(&other));
            if course.campaign == campaign {
                run.amplification = last_fifth(&other);
            }
        }
        Ok(run)
    }

    fn mean(&self) -> f64 {
        self.logs.iter().sum::<f64>() / self.logs.len() as f64
    }

    /// The course beside the real one, after a factor, given as its logarithm.
    fn figure(&self, bar: &CourseBar, factor: f64) -> RealFigure {
        let off = residual(&self.logs, factor);
        let mut remarks = Vec::new();
        if factor != 0.0 {
            remarks.push(format!("after a factor of {}", short(factor.exp())));
        }
        if let (Some(logs), Some((_, spare))) = (&self.other, bar.other_spare) {
            remarks.push(format!("without one at {spare} {}", short(residual(logs, 0.0))));
        }
        let figure = steady(
            (bar.drive, self.course.name()),
            FigureStanding::of(self.course.fitted),
            (&self.course.tenths, &self.logs),
        );
        RealFigure { off: Some(off), holds: off <= bar.most, remark: remarks.join(", "), ..figure }
    }

    /// The write amplification beside what the real drive counted.
    fn amplification(&self, bar: &CourseBar) -> Option<RealFigure> {
        let (ours, real) = (self.amplification?, self.course.amplification?);
        let spare = bar.other_spare.filter(|(of, _)| *of == self.course.campaign);
        let name = format!("write amplification, {}", self.course.name());
        let figure = RealFigure::new(
            (bar.drive, name),
            FigureStanding::Compared,
            (Some(ours), RealValue::Exactly(real), ""),
            (ours / real - 1.0).abs() <= AMPLIFICATION_MOST,
        );
        let remark = spare.map_or_else(String::new, |(_, spare)| format!("at {spare}"));
        Some(RealFigure { remark, ..figure })
    }
}

/// The mean of what is left of logarithms after a factor, given as its logarithm.
pub(super) fn residual(logs: &[f64], factor: f64) -> f64 {
    logs.iter().map(|log| (log - factor).abs()).sum::<f64>() / logs.len() as f64
}

/// Bytes programmed over bytes written by the host, over the last fifth of the rounds; `None` where
/// the drive does not say.
pub(super) fn last_fifth(rounds: &[DriveRound]) -> Option<f64> {
    let last = rounds[rounds.len() - rounds.len() / 5..].iter();
    let wear: Vec<WearStep> = last.map(|round| round.wear).collect::<Option<_>>()?;
    let sum = |of: fn(&WearStep) -> Bytes| wear.iter().map(|it| of(it).0 as f64).sum::<f64>();
    Some(sum(|it| it.media_written_bytes) / sum(|it| it.host_written_bytes))
}

/// Ours and the real IOPS as means over the last fifth of the tenths, whose ln(ours / real) `logs`
/// are; before any factor. How far they are off is to be said by the course.
pub(super) fn steady(
    called: (&str, String),
    standing: FigureStanding,
    (tenths, logs): (&[f64], &[f64]),
) -> RealFigure {
    let from = tenths.len() - tenths.len() / 5;
    let mean = |values: &[f64]| (values.iter().sum::<f64>() / values.len() as f64).round();
    let ours: Vec<f64> = tenths.iter().zip(logs).map(|(real, log)| real * log.exp()).collect();
    let real = RealValue::Exactly(mean(&tenths[from..]));
    let values = (Some(mean(&ours[from..])), real, "IOPS when steady");
    RealFigure::new(called, standing, values, false)
}

/// The worst of `parts` by how far it is off, as a figure.
pub(super) fn worst_of(what: &str, most: f64, parts: Vec<RealFigure>) -> Option<Figure> {
    let worst = parts.iter().filter_map(|part| part.off).max_by(f64::total_cmp)?;
    Some(Figure::new(what, (worst, ""), Bar::AtMost(most)).with_parts(parts))
}

/// The write amplification that is furthest from the counter of the real drive, as a share.
pub(super) fn furthest_of(what: &str, most: f64, parts: Vec<RealFigure>) -> Option<Figure> {
    let off = |part: &RealFigure| Some((part.ours? / part.real.number() - 1.0).abs());
    let furthest = parts.iter().filter_map(off).max_by(f64::total_cmp)?;
    Some(Figure::new(what, (furthest, ""), Bar::AtMost(most)).with_parts(parts))
}

/// The worst of the courses to which a drive is fitted, and of those that are predicted; and its
/// write amplification.
fn judged(bar: &CourseBar, runs: &[CourseRun<'_>]) -> Vec<Figure> {
    let of = || runs.iter().filter(|it| it.course.drive == bar.drive);
    let mut factors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for it in of().filter(|it| bar.by_campaign && it.course.fitted) {
        factors.entry(&it.course.campaign).or_default().push(it.mean());
    }
    let factor = |course: &DriveCourse| {
        let found = factors.get(course.campaign.as_str());
        found.map_or(0.0, |found| found.iter().sum::<f64>() / found.len() as f64)
    };
    let courses = [true, false].into_iter().filter_map(|fitted| {
        let of = of().filter(|it| it.course.fitted == fitted);
        let parts = of.map(|it| it.figure(bar, factor(it.course))).collect();
        worst_of(&worst(bar.drive, FigureStanding::of(fitted)), bar.most, parts)
    });
    let counted = of().filter_map(|it| it.amplification(bar)).collect();
    let what = format!("{}: write amplification, furthest off", bar.drive);
    courses.chain(furthest_of(&what, AMPLIFICATION_MOST, counted)).collect()
}
