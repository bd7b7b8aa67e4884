//! What a drive says of itself: identity, health, heat, and what it counted of TRIM.
//!
//! A process that waits for a drive that does not answer cannot be killed. So a diagnosis asks each
//! drive in a child process, and leaves it behind after a deadline.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;
use trimbench_claim::sysfs::BlockDevice;
use trimbench_core::Nanos;
use trimbench_linux::passthrough::{DriveLogs, LogOptions, NoDriveLogs, read_logs_of};
use trimbench_log_pages::nvme::smart::host_written_of;
use trimbench_log_pages::ocp::latency::MonitoredCommands;
use trimbench_log_pages::{DecodedPage, DriveSummary};
use trimbench_results::number::{count, quantity};

use crate::diagnosis::Diagnosis;
use crate::tree::output_within;

/// How long a drive has to answer.
const LIMIT: Nanos = Nanos::from_secs(5);
/// Warnings of the health page, by their bits.
const WARNINGS: [&str; 6] = [
    "spare capacity below its threshold",
    "too hot or too cold",
    "reliability degraded",
    "read-only",
    "volatile memory backup failed",
    "persistent memory region unreliable",
];

/// What a drive says of itself.
#[derive(Clone, Debug, Serialize)]
pub struct DriveReport {
    /// Its kernel name.
    pub device: String,
    /// Model, serial number and log pages.
    #[serde(flatten)]
    pub logs: DriveLogs,
    /// What matters of the pages.
    pub summary: DriveSummary,
    /// Health and heat in a sentence.
    pub words: String,
}

/// A name that is no block device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a block device")]
pub struct NotADrive(String);

impl DriveReport {
    /// Asks the drive of this node. A partition's drive is asked.
    ///
    /// # Errors
    /// The outer: this is no block device. The inner: no log can be read, and why.
    pub fn of(node: &Path, options: LogOptions) -> Result<Result<Self, NoDriveLogs>, NotADrive> {
        let device = BlockDevice::from_node(node);
        let disk = device.ok_or_else(|| NotADrive(node.display().to_string()))?.whole();
        Ok(read_logs_of(&disk, options).map(|logs| {
            let summary = logs.summary();
            let words = words(&logs, &summary);
            Self { device: disk.disk_name().to_owned(), logs, summary, words }
        }))
    }

    /// For a terminal; with every value of every page if `is_full`.
    pub fn lines(&self, is_full: bool) -> Vec<String> {
        let Self { device, logs, summary, words } = self;
        let mut all = vec![format!("{device}: {}, serial number {}", logs.model, logs.serial)];
        all.push(format!("health: {words}"));
        all.extend(lifetime(logs));
        all.extend(written(logs, summary));
        all.extend(trims(summary).map(|said| format!("TRIM: {said}")));
        all.extend(slow_trims(summary).map(|said| format!("slow TRIM: {said}")));
        let pages = logs.pages();
        if is_full {
            all.extend(pages.iter().flat_map(page_lines));
        } else {
            let names: Vec<&str> = pages.iter().map(|page| page.page).collect();
            all.push(format!("log pages: {}", names.join(", ")));
        }
        let not_read = logs.logs.iter().filter_map(|log| {
            let reason = log.outcome.as_ref().err()?;
            Some(format!("not read: {}: {reason}", log.page))
        });
        all.extend(not_read);
        all
    }
}

impl Diagnosis {
    /// As root, asks each drive about its health, each in a child process of this program.
    pub fn ask_drives(&mut self) {
        let Ok(program) = std::env::current_exe() else { return };
        if rustix::process::geteuid().is_root() {
            let drives = self.drives().into_iter();
            self.drives_say = drives.filter_map(|drive| drive_words(&program, drive)).collect();
        }
    }
}

/// What the drive of this kernel name says of its health: the pages that it has for sure. `None`
/// where it says nothing.
fn drive_words(program: &Path, device: &str) -> Option<String> {
    let node = Path::new("/dev").join(device);
    let mut child = Command::new(program);
    child.args(["doctor", "--standard-logs", "--json", "--drive"]).arg(node);
    child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    match output_within(&mut child, LIMIT) {
        Ok(text) => {
            let report: serde_json::Value = serde_json::from_str(&text?).ok()?;
            Some(format!("{device} says: {}", report["words"].as_str()?))
        }
        Err(error) if error.raw_os_error() == Some(libc::ETIMEDOUT) => {
            Some(format!("{device} did not answer within 5 s when asked about its health"))
        }
        Err(_) => None,
    }
}

fn number(logs: &DriveLogs, name: &str) -> Option<u64> {
    logs.logs.iter().find_map(|log| log.outcome.as_ref().ok()?.number(name))
}

/// Warnings, wear and heat.
fn words(logs: &DriveLogs, summary: &DriveSummary) -> String {
    let mut said = Vec::new();
    if let Some(bits) = number(logs, "critical-warning-bits") {
        let set = |index: &usize| bits & 1 << index != 0;
        let warnings = (0..WARNINGS.len()).filter(set).map(|index| WARNINGS[index]);
        let warnings: Vec<&str> = warnings.collect();
        said.push(match warnings.as_slice() {
            [] => "no critical warning".to_owned(),
            some => format!("CRITICAL: {}", some.join(", ")),
        });
    }
    let wear = summary.endurance_used_percent;
    said.extend(wear.map(|percent| format!("{percent} % of its endurance used")));
    let spare = number(logs, "available-spare-percent");
    said.extend(spare.map(|percent| format!("available spare {percent} %")));
    said.extend(summary.temperature_celsius.map(|celsius| format!("{celsius} °C")));
    let throttled = summary.throttled_seconds;
    said.extend(throttled.map(|seconds| format!("throttled for {} s in total", count(seconds))));
    if said.is_empty() { "nothing".to_owned() } else { said.join(", ") }
}

/// How long it has been in use, and what went wrong.
fn lifetime(logs: &DriveLogs) -> Option<String> {
    let said = [
        ("power-on-hours", "power-on hours"),
        ("unsafe-shutdown-count", "unsafe shutdowns"),
        ("media-error-count", "media errors"),
        ("uncorrectable-error-count", "uncorrectable errors"),
        ("interface-crc-error-count", "interface CRC errors"),
        ("error-log-entry-count", "error log entries"),
    ]
    .map(|(name, words)| Some(format!("{} {words}", count(number(logs, name)?))));
    let said: Vec<String> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| format!("lifetime: {}", said.join(", ")))
}

/// What the host wrote, and what the drive programmed.
fn written(logs: &DriveLogs, summary: &DriveSummary) -> Option<String> {
    let host = logs.pages().iter().find_map(host_written_of)?;
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let (host, media) = (host.0 as f64, summary.media_written_bytes.map(|it| it as f64));
    let own = media.map(|media| {
        let factor = media / host;
        format!(
            ", {} to flash: write amplification {factor:.2} over its life",
            quantity(media, "B")
        )
    });
    Some(format!("written: {} by hosts{}", quantity(host, "B"), own.unwrap_or_default()))
}

/// What it counted of TRIM.
fn trims(summary: &DriveSummary) -> Option<String> {
    let counted = |number: Option<u64>, words: &str| Some(format!("{} {words}", count(number?)));
    let said = [
        counted(summary.deallocate_command_count, "commands"),
        counted(summary.deallocate_timeout_count, "of them took longer than 5 s"),
        counted(summary.pending_trim_blocks, "blocks are not worked off"),
        counted(
            summary.requested_trim_blocks,
            "blocks were named since the telemetry was captured",
        ),
        counted(summary.incomplete_trim, "not worked off (the vendor does not state the unit)"),
        summary.completed_trim_percent.map(|percent| format!("{percent} % worked off")),
        summary.back_pressure_percent.map(|it| format!("background work slows hosts by {it} %")),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// What it measured of the latency of TRIM.
fn slow_trims(summary: &DriveSummary) -> Option<String> {
    if let Some(monitor) = &summary.latency_monitor {
        if !monitor.is_enabled {
            return Some("the drive's latency monitor is off".to_owned());
        }
        let buckets = &monitor.active.deallocate;
        let total: u64 = buckets.iter().map(|bucket| bucket.count).sum();
        let worst = MonitoredCommands::worst(buckets).and_then(|worst| {
            let which = if worst.is_largest { "the longest" } else { "the first" };
            Some(format!(", {which} {} ms", count(worst.latency_ms?)))
        });
        return Some(format!(
            "{} of {} ms or more in the last {} minutes{}",
            count(total),
            monitor.bucket_starts_ms[0],
            count(monitor.active_minutes),
            worst.unwrap_or_default()
        ));
    }
    let histogram = summary.deallocate_latency.as_ref()?;
    let slowest = histogram.slowest_from_us()?;
    #[expect(clippy::cast_precision_loss, reason = "a bound of a bucket")]
    let from = quantity(slowest as f64 / 1e6, "s");
    Some(format!("of {} commands, ever, the slowest took {from} or more", count(histogram.count())))
}

fn page_lines(page: &DecodedPage) -> Vec<String> {
    let version = page.version.map(|version| format!(", version {version}"));
    let head = format!("{}{}:", page.page, version.unwrap_or_default());
    let values = page.values.iter().map(|value| format!("  {}: {}", value.name, value.value));
    [head].into_iter().chain(values).collect()
}

#[cfg(test)]
mod tests {
    use trimbench_linux::passthrough::{DriveLog, LogNotRead};
    use trimbench_log_pages::LogPage;
    use trimbench_log_pages::nvme::smart::SMART;
    use trimbench_log_pages::ocp::latency::OCP_LATENCY;

    use super::*;

    /// A page with these bytes, the rest zeros.
    fn read(page: &LogPage, bytes: &[(usize, &[u8])]) -> DriveLog {
        let mut image = vec![0; page.length];
        for (at, part) in bytes {
            image[*at..at + part.len()].copy_from_slice(part);
        }
        DriveLog { page: page.id, outcome: Ok(page.read(&image).unwrap()) }
    }

    fn smart(warning: u8) -> DriveLog {
        read(
            &SMART,
            &[
                (0, &[warning]),
                (1, &314_u16.to_le_bytes()),
                (3, &[100, 10, 7]),
                (48, &2_000_000_u32.to_le_bytes()),
                (128, &4_321_u32.to_le_bytes()),
                (144, &12_u32.to_le_bytes()),
                (224, &60_u32.to_le_bytes()),
            ],
        )
    }

    fn report(logs: Vec<DriveLog>) -> DriveReport {
        let logs = DriveLogs { model: "ACME 1".to_owned(), serial: "S1".to_owned(), logs };
        let summary = logs.summary();
        let words = words(&logs, &summary);
        DriveReport { device: "nvme0n1".to_owned(), logs, summary, words }
    }

    #[test]
    fn health_wear_heat_and_slow_trims_are_said() {
        // Of the active window: three TRIMs in bucket 3, the longest of 1300 ms.
        let guid = 0x85D4_5E58_D4E6_4370_9C6C_84D0_8CC0_7A92_u128.to_le_bytes();
        let latency = read(
            &OCP_LATENCY,
            &[
                (0, &[1]),
                (2, &[3]),
                (10, &0xfff_u16.to_le_bytes()),
                (80 + 4, &[3]),
                (192, &1_300_u16.to_le_bytes()),
                (494, &[1]),
                (496, &guid),
            ],
        );
        let missing = DriveLog { page: "ocp-smart", outcome: Err(LogNotRead::Absent) };
        assert_eq!(
            report(vec![smart(0), missing, latency]).lines(false),
            [
                "nvme0n1: ACME 1, serial number S1",
                "health: no critical warning, 7 % of its endurance used, available spare 100 %, \
                 41 °C, throttled for 60 s in total",
                "lifetime: 4,321 power-on hours, 12 unsafe shutdowns, 0 media errors, 0 error log \
                 entries",
                "written: 1.02 TB by hosts",
                "slow TRIM: 3 of 5 ms or more in the last 15 minutes, the longest 1,300 ms",
                "log pages: nvme-smart, ocp-latency-monitor",
                "not read: ocp-smart: the drive has no such log",
            ]
        );
    }

    #[test]
    fn a_critical_warning_is_named() {
        let words = report(vec![smart(0b1001)]).words;
        assert!(words.starts_with("CRITICAL: spare capacity below its threshold, read-only"));
    }
}
