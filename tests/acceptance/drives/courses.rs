//! Claim `drives.1`: the course of the write rate of real drives, which were written with several
//! patterns from fresh to steady, and that of the emulated drives of their names.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use trimbench_core::Bytes;
use trimbench_core::units::rounded;
use trimbench_results::Step;

use super::{keep_table, optional_number, rounds, rows};
use crate::acceptance::{Bar, Context, Finding, Form, Raw, short};

#[cfg(test)]
mod tests;

/// The figures, with their source in the page beside them.
const COURSES: &str = "docs/drives/courses.csv";
const KEPT: &str = "courses.csv";
/// The capacity to which the drives are scaled.
const CAPACITY: Bytes = Bytes::gib(16);
/// The rounds of the method before its own criterion may hold.
pub(super) const ROUNDS_LEAST: usize = 5;
/// |ours / real - 1| of the write amplification, where the real drive's counter is public.
const AMPLIFICATION_MOST: f64 = 0.02;

/// A drive, and how far its courses may be off.
struct Judge {
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
    /// both without any factor, too, which is shown beside the verdict.
    other_spare: Option<(&'static str, &'static str)>,
}

const DRIVES: [Judge; 4] = [
    Judge::of("micron-7450-max-800", 0.03),
    Judge { host_limits: true, ..Judge::of("kioxia-cm7-r-3840", 0.03) },
    Judge {
        by_campaign: true,
        other_spare: Some(("finalinit07", "18.4%")),
        ..Judge::of("solidigm-p5520-1920", 0.06)
    },
    Judge::of("wd-dc-960", 0.08),
];

impl Judge {
    const fn of(drive: &'static str, most: f64) -> Self {
        Self { drive, most, host_limits: false, by_campaign: false, other_spare: None }
    }
}

/// One run of a real drive.
#[derive(Clone, Debug)]
struct Course {
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

impl Course {
    fn read(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [drive, campaign, _, split, pattern, used, amplification, tenths] = fields[..] else {
            anyhow::bail!("`{line}` is no course");
        };
        let number = |text: &str| text.parse::<f64>().with_context(|| format!("`{text}`"));
        Ok(Self {
            drive: drive.to_owned(),
            campaign: campaign.to_owned(),
            fitted: split == "fit",
            pattern: pattern.to_owned(),
            used: number(used)?,
            amplification: optional_number(amplification)?,
            tenths: tenths.split(' ').map(number).collect::<Result<_>>()?,
        })
    }

    /// What the host of this run is, where that limited the fresh rate.
    fn host(&self) -> Result<Option<String>> {
        let command = rounded(1e9 / self.tenths[0]);
        Ok(self.judge()?.host_limits.then(|| format!("host.command={command}ns")))
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

    fn judge(&self) -> Result<&'static Judge> {
        let judge = DRIVES.iter().find(|judge| judge.drive == self.drive);
        judge.with_context(|| format!("{} has no bar", self.drive))
    }

    /// ln(ours / real) of each tenth.
    fn logs(&self, rounds: &[Step]) -> Vec<f64> {
        let ours = rounds.iter().filter_map(|step| step.metric("iops"));
        ours.zip(&self.tenths).map(|(ours, real)| (ours / real).ln()).collect()
    }

    /// The drive's name in the raw output, and which of its courses this is.
    fn name(&self, index: usize) -> String {
        format!("{index:02}-{}-{}", self.drive, self.pattern.replace('%', ""))
    }
}

/// The run of a drive to which its profile is fitted, as a table of figures for `trimbench fit`,
/// each known to so many percent; and the settings of its host.
pub(in crate::acceptance) fn fitted_run(
    context: &Context<'_>,
    (drive, campaign): (&str, &str),
    percent: f64,
) -> Result<(String, Option<String>)> {
    let all = courses(&super::table(context, COURSES)?, Form::Full)?;
    let is_it = |it: &&Course| it.drive == drive && it.campaign == campaign && it.fitted;
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

/// All courses of the drives that a form runs, in their order.
fn courses(text: &str, form: Form) -> Result<Vec<Course>> {
    rows(text, form, Course::read)
}

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    measure_with(context, str::to_owned)
}

/// The same with other profiles: `profile` names, or is the file of, that of a drive.
pub(in crate::acceptance) fn measure_with(
    context: &Context<'_>,
    profile: impl Fn(&str) -> String,
) -> Result<()> {
    let text = keep_table(context, COURSES, KEPT)?;
    let courses = courses(&text, context.form())?;
    for (index, course) in courses.iter().enumerate() {
        let judge = course.judge()?;
        let mut target = format!("sim:{},capacity={CAPACITY},fill=none", profile(&course.drive));
        if let Some(setting) = course.host()? {
            let _ = write!(target, ",{setting}");
        }
        let share = course.used / capacity(&courses, course);
        let mut options = course.options(share);
        options.push(format!("span={}", Bytes(rounded(CAPACITY.0 as f64 * share))));
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let name = course.name(index);
        let other = judge
            .other_spare
            .map(|(_, spare)| (other(&name), format!("{target},drive.over_provisioning={spare}")));
        for (name, target) in [(name, target)].into_iter().chain(other) {
            let mut command = context.run("steady-state", &target, &options)?;
            command.arg("--output").arg(context.folder().join(&name));
            // The criterion of the steady state is not met after five rounds: what the rounds say
            // is what counts here.
            let status = context.capture(&name, &mut command)?.status;
            ensure!(matches!(status, Some(0 | 4)), "{name} ended with {status:?}");
        }
    }
    Ok(())
}

/// The same course with the other over-provisioning.
fn other(name: &str) -> String {
    format!("{name}-other-spare")
}

/// GiB of the whole drive: the most of it that any course used.
fn capacity(courses: &[Course], of: &Course) -> f64 {
    let same = courses.iter().filter(|course| course.drive == of.drive);
    same.map(|course| course.used).fold(0.0, f64::max)
}

/// A course and ours.
struct Compared<'a> {
    course: &'a Course,
    name: String,
    /// ln(ours / real) of each tenth, and with the other over-provisioning.
    logs: Vec<f64>,
    other: Option<Vec<f64>>,
    /// Our write amplification over the last fifth, with the spare space of its campaign.
    amplification: Option<f64>,
}

/// The mean of what is left of logarithms after a factor, given as its logarithm.
pub(super) fn residual(logs: &[f64], factor: f64) -> f64 {
    logs.iter().map(|log| (log - factor).abs()).sum::<f64>() / logs.len() as f64
}

/// Bytes programmed over bytes written by the host, over the last fifth of the rounds; `None` where
/// the drive does not say.
pub(super) fn last_fifth(rounds: &[Step]) -> Option<f64> {
    let last = &rounds[rounds.len() - rounds.len() / 5..];
    let sum = |key| last.iter().map(|step| step.metric(key)).sum::<Option<f64>>();
    Some(sum("media_written_bytes")? / sum("host_written_bytes")?)
}

/// Ours and the real IOPS as means over the last fifth of the tenths, whose ln(ours / real) `logs`
/// are; before any factor.
pub(super) fn steady(tenths: &[f64], logs: &[f64]) -> String {
    let from = tenths.len() - tenths.len() / 5;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let ours = tenths.iter().zip(logs).map(|(real, log)| real * log.exp());
    let ours: Vec<f64> = ours.skip(from).collect();
    format!("ours {:.0}, real {:.0} IOPS when steady", mean(&ours), mean(&tenths[from..]))
}

impl Compared<'_> {
    fn mean(&self) -> f64 {
        self.logs.iter().sum::<f64>() / self.logs.len() as f64
    }
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let courses = courses(&raw.text(KEPT)?, raw.form())?;
    let mut compared = Vec::new();
    for (index, course) in courses.iter().enumerate() {
        let name = course.name(index);
        let count = course.tenths.len();
        let rounds = rounds(raw, &name, count)?;
        let spare = course.judge()?.other_spare;
        let other = spare.map(|_| super::rounds(raw, &other(&name), count)).transpose()?;
        let of_its_campaign = spare.is_some_and(|(campaign, _)| campaign == course.campaign);
        let amplification = last_fifth(match &other {
            Some(other) if of_its_campaign => other,
            _ => &rounds,
        });
        let logs = course.logs(&rounds);
        let other = other.map(|rounds| course.logs(&rounds));
        compared.push(Compared { course, name, logs, other, amplification });
    }
    let mut findings = Vec::new();
    for judge in DRIVES {
        let of: Vec<&Compared<'_>> =
            compared.iter().filter(|it| it.course.drive == judge.drive).collect();
        if !of.is_empty() {
            findings.extend(of_drive(raw, &judge, &of)?);
        }
    }
    Ok(findings)
}

/// The worst of the courses to which a drive is fitted, and of those that are predicted.
fn of_drive(raw: &Raw, judge: &Judge, of: &[&Compared<'_>]) -> Result<Vec<Finding>> {
    let mut factors: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for it in of.iter().filter(|it| judge.by_campaign && it.course.fitted) {
        factors.entry(&it.course.campaign).or_default().push(it.mean());
    }
    let factor = |course: &Course| {
        let found = factors.get(course.campaign.as_str());
        found.map_or(0.0, |found| found.iter().sum::<f64>() / found.len() as f64)
    };
    let mut findings = Vec::new();
    for fitted in [true, false] {
        let rows: Vec<(f64, &Compared<'_>)> = of
            .iter()
            .filter(|it| it.course.fitted == fitted)
            .map(|it| (residual(&it.logs, factor(it.course)), *it))
            .collect();
        let Some((worst, at)) = rows.iter().max_by(|one, other| one.0.total_cmp(&other.0)) else {
            continue;
        };
        let notes = rows.iter().map(|(residual, it)| {
            let Course { campaign, pattern, used, .. } = it.course;
            let by = match factor(it.course) {
                0.0 => String::new(),
                log => format!(" after a factor of {}", short(log.exp())),
            };
            let spare = it.other.as_ref().map_or_else(String::new, |logs| {
                let (_, spare) = judge.other_spare.unwrap_or_default();
                format!(", without one at {spare} {}", short(self::residual(logs, 0.0)))
            });
            let steady = steady(&it.course.tenths, &it.logs);
            format!("{pattern} ({campaign}, {used} GiB): {}{by}{spare}, {steady}", short(*residual))
        });
        let notes: Vec<String> = notes.collect();
        let what = if fitted { "fitted" } else { "predicted" };
        let what = format!("{}: the worst course that is {what}", judge.drive);
        let capture = raw.capture(&at.name)?;
        let finding = Finding::new(&what, (*worst, ""), Bar::AtMost(judge.most), &capture);
        findings.push(finding.with_note(&notes.join("; ")));
    }
    findings.extend(amplification(raw, judge, of)?);
    Ok(findings)
}

/// The write amplification that is furthest from what the real drive counted.
fn amplification(raw: &Raw, judge: &Judge, of: &[&Compared<'_>]) -> Result<Option<Finding>> {
    let counted = || {
        of.iter().filter_map(|it| {
            let (ours, real) = (it.amplification?, it.course.amplification?);
            Some(((ours / real - 1.0).abs(), ours, real, *it))
        })
    };
    let worst = counted().max_by(|one, other| one.0.total_cmp(&other.0));
    let Some((off, _, _, at)) = worst else { return Ok(None) };
    let notes = counted().map(|(_, ours, real, it)| {
        let Course { campaign, pattern, used, .. } = it.course;
        let spare = judge.other_spare.filter(|(of, _)| of == campaign);
        let spare = spare.map_or_else(String::new, |(_, spare)| format!(", at {spare}"));
        format!("{pattern} ({campaign}, {used} GiB): {} for {real}{spare}", short(ours))
    });
    let notes: Vec<String> = notes.collect();
    let what = format!("{}: write amplification, furthest off", judge.drive);
    let bar = Bar::AtMost(AMPLIFICATION_MOST);
    let finding = Finding::new(&what, (off, ""), bar, &raw.capture(&at.name)?);
    Ok(Some(finding.with_note(&notes.join("; "))))
}
