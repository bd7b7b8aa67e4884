//! What callers decide by, from whichever pages a drive has.

use serde::Serialize;

use crate::histogram::LogHistogram;
use crate::ocp::latency::LatencyMonitor;
use crate::ocp::telemetry::{PENDING_TRIM, REQUESTED_TRIM};
use crate::page::DecodedPage;

/// Kelvin of 0 °C, as NVMe rounds it.
const FREEZING_KELVIN: i64 = 273;

/// What a drive says of TRIM, its wear and its heat. A value is `None` where no page has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DriveSummary {
    /// Wear by the vendor's estimate, in percent; may exceed 100.
    pub endurance_used_percent: Option<u64>,
    /// Temperature now, in degrees Celsius.
    pub temperature_celsius: Option<i64>,
    /// Time that the drive ran throttled because of heat, ever, in seconds.
    pub throttled_seconds: Option<u64>,
    /// Times that the drive began to throttle, ever.
    pub throttle_event_count: Option<u64>,
    /// Time above the temperature that the drive warns of, ever, in minutes.
    pub warning_temperature_minutes: Option<u64>,
    /// Logical blocks that TRIM named and the drive has not worked off.
    pub pending_trim_blocks: Option<u64>,
    /// Logical blocks that TRIM named since the telemetry was last captured.
    pub requested_trim_blocks: Option<u64>,
    /// The vendor's estimate of data that TRIM named and that is not worked off, in its own unit.
    pub incomplete_trim: Option<u64>,
    /// How much of TRIM is worked off, in percent.
    pub completed_trim_percent: Option<u64>,
    /// How far work in the background slows down the host, in percent.
    pub back_pressure_percent: Option<u64>,
    /// TRIM commands (Dataset Management) completed, ever.
    pub deallocate_command_count: Option<u64>,
    /// TRIM commands that took longer than the drive's threshold, ever.
    pub deallocate_timeout_count: Option<u64>,
    /// Free erase blocks, in percent.
    pub free_blocks_percent: Option<u64>,
    /// Bytes that the drive programmed, for the host and by itself.
    pub media_written_bytes: Option<u64>,
    /// The latency of TRIM commands, ever, where the drive keeps a histogram.
    pub deallocate_latency: Option<LogHistogram>,
    /// Slow reads, writes and TRIMs with their times, where the drive watches for them.
    pub latency_monitor: Option<LatencyMonitor>,
}

impl DriveSummary {
    /// From all pages that were read of a drive. Where several have a value, the first wins.
    pub fn of(pages: &[DecodedPage]) -> Self {
        let any = |names: &[&str]| {
            pages.iter().find_map(|page| names.iter().find_map(|name| page.number(name)))
        };
        let one = |name| any(&[name]);
        let kelvin = |page: &DecodedPage| {
            let kelvin = page.number("temperature-kelvin").filter(|&kelvin| kelvin != 0)?;
            Some(i64::try_from(kelvin).ok()? - FREEZING_KELVIN)
        };
        let celsius = |page: &DecodedPage| page.get("temperature-celsius")?.signed();
        let throttled = |page: &DecodedPage| {
            let light = page.number("throttle-light-seconds")?;
            Some(light.saturating_add(page.number("throttle-heavy-seconds")?))
        };
        Self {
            endurance_used_percent: one("endurance-used-percent"),
            temperature_celsius: pages.iter().find_map(|page| kelvin(page).or(celsius(page))),
            throttled_seconds: pages.iter().find_map(throttled),
            throttle_event_count: one("throttle-event-count"),
            warning_temperature_minutes: any(&[
                "warning-temperature-minutes",
                "over-temperature-minutes",
            ]),
            pending_trim_blocks: one(PENDING_TRIM),
            requested_trim_blocks: one(REQUESTED_TRIM),
            incomplete_trim: one("incomplete-trim"),
            completed_trim_percent: one("completed-trim-percent"),
            back_pressure_percent: one("background-back-pressure-percent"),
            deallocate_command_count: one("deallocate-command-count"),
            deallocate_timeout_count: one("deallocate-timeout-count"),
            free_blocks_percent: any(&["free-blocks-percent", "free-blocks-user-percent"]),
            media_written_bytes: one("media-written-bytes"),
            deallocate_latency: pages.iter().find_map(|page| LogHistogram::of(page, "deallocate")),
            latency_monitor: pages.iter().find_map(LatencyMonitor::of),
        }
    }
}
