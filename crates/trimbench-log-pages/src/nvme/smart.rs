//! SMART / Health Information, log 02h: \[NVME\] Base 2.0, 5.16.1.3, figure 207; the last two
//! fields from Base 2.2 as \[NVMECLI\] has them.

use trimbench_core::Bytes;

use crate::field::LogField;
use crate::page::{DecodedPage, LogLayout, LogPage};

/// Bytes in a data unit: a thousand sectors of 512 bytes.
const DATA_UNIT: u64 = 512_000;
const HOST_WRITTEN: &str = "host-written-units-of-512000-bytes";

/// The page.
pub static SMART: LogPage = LogPage {
    title: "SMART / Health Information",
    sources: &["NVME", "NVMECLI"],
    ..LogPage::plain("nvme-smart", 0x02, &[LogLayout::fields((0, 0), &[HEALTH, TIMES, POWER])])
};

const HEALTH: &[LogField] = &[
    LogField::gauge(
        "critical-warning-bits",
        0,
        1,
        "bit 0 spare below its threshold, 1 temperature, 2 reliability degraded, 3 read-only, 4 \
         volatile memory backup failed, 5 persistent memory region",
    ),
    LogField::gauge("temperature-kelvin", 1, 2, "composite temperature"),
    LogField::gauge("available-spare-percent", 3, 1, "spare capacity that is left"),
    LogField::gauge("available-spare-threshold-percent", 4, 1, "below it, a critical warning"),
    LogField::gauge(
        "endurance-used-percent",
        5,
        1,
        "estimate by the vendor; may exceed 100, 255 stands for 255 and more",
    ),
    LogField::gauge("endurance-group-warning-bits", 6, 1, "critical warnings of endurance groups"),
    LogField::counter(
        "host-read-units-of-512000-bytes",
        32,
        16,
        "data units read, rounded up; 0: not reported",
    ),
    LogField::counter(HOST_WRITTEN, 48, 16, "data units written, rounded up; 0: not reported"),
    LogField::counter("host-read-command-count", 64, 16, "read commands completed"),
    LogField::counter("host-write-command-count", 80, 16, "write commands completed"),
    LogField::counter("controller-busy-minutes", 96, 16, "time with I/O commands outstanding"),
    LogField::counter("power-cycle-count", 112, 16, "power cycles"),
    LogField::counter("power-on-hours", 128, 16, "power-on time; may leave out low-power states"),
    LogField::counter("unsafe-shutdown-count", 144, 16, "power lost without notice"),
    LogField::counter("media-error-count", 160, 16, "unrecovered data integrity errors"),
    LogField::counter("error-log-entry-count", 176, 16, "error information log entries, ever"),
];

const TIMES: &[LogField] = &[
    LogField::counter(
        "warning-temperature-minutes",
        192,
        4,
        "time between the warning and the critical temperature (WCTEMP, CCTEMP)",
    ),
    LogField::counter("critical-temperature-minutes", 196, 4, "time above CCTEMP"),
    LogField::gauge("temperature-sensor-1-kelvin", 200, 2, "0: no such sensor"),
    LogField::gauge("temperature-sensor-2-kelvin", 202, 2, "0: no such sensor"),
    LogField::gauge("temperature-sensor-3-kelvin", 204, 2, "0: no such sensor"),
    LogField::gauge("temperature-sensor-4-kelvin", 206, 2, "0: no such sensor"),
    LogField::gauge("temperature-sensor-5-kelvin", 208, 2, "0: no such sensor"),
    LogField::gauge("temperature-sensor-6-kelvin", 210, 2, "0: no such sensor"),
    LogField::gauge("temperature-sensor-7-kelvin", 212, 2, "0: no such sensor"),
    LogField::gauge("temperature-sensor-8-kelvin", 214, 2, "0: no such sensor"),
    LogField::counter(
        "throttle-light-transition-count",
        216,
        4,
        "transitions to lower power states because of thermal management temperature 1",
    ),
    LogField::counter(
        "throttle-heavy-transition-count",
        220,
        4,
        "the same for thermal management temperature 2, whatever it costs in performance",
    ),
    LogField::counter("throttle-light-seconds", 224, 4, "time throttled by temperature 1"),
    LogField::counter("throttle-heavy-seconds", 228, 4, "time throttled by temperature 2"),
];

const POWER: &[LogField] = &[
    LogField::counter(
        "operational-lifetime-energy",
        232,
        8,
        "energy consumed over its life, in units that the drive states elsewhere; 0: not reported",
    ),
    LogField::gauge("interval-power", 240, 4, "interval power measurement; 0: not reported"),
];

/// Bytes that the host wrote, from the bytes of the page; `None` as in [`host_written_of`].
pub fn host_written(bytes: &[u8]) -> Option<Bytes> {
    host_written_of(&SMART.read(bytes).ok()?)
}

/// Bytes that the host wrote. Counted in data units, rounded up: differences below some hundred
/// megabytes say little. `None` if this is another page, or the drive does not count, or says more
/// than 16 EiB, which no drive has written.
pub fn host_written_of(page: &DecodedPage) -> Option<Bytes> {
    let units = page.number(HOST_WRITTEN)?;
    units.checked_mul(DATA_UNIT).filter(|&bytes| bytes != 0).map(Bytes)
}
