//! Logs: SMART (02h), OCP's extended SMART (C0h) and sanitize status (81h). Sources: \[NVME\] Base
//! 2.0, 5.16.1.3 and 5.16.1.25, figures 207 and 268; \[OCP\] 4.8.5.

use trimbench_core::{Bytes, Nanos, Ppm};

use super::identify::Controller;
use crate::passthrough::bytes::{le16, le32, le128};
use crate::passthrough::counters::{HealthCounter, HealthCounters};
use crate::passthrough::purge::progress;

/// Log identifiers.
pub(super) const SMART: u8 = 0x02;
pub(super) const SANITIZE: u8 = 0x81;
pub(super) const OCP_SMART: u8 = 0xc0;
/// All three logs have this size.
pub(super) const BYTES: usize = 512;

/// What makes log C0h OCP's, in its last 16 bytes: `AFD514C97C6F4F9CA4F2BFEA2810AFC5h`.
const OCP_GUID: [u8; 16] = [
    0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4, 0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf,
];

/// Bytes in a data unit of the SMART log: a thousand sectors of 512 bytes.
const DATA_UNIT: u64 = 512_000;

/// The state of the most recent sanitize operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SanitizeStatus {
    pub(super) state: SanitizeState,
    /// Share done, while in progress.
    pub(super) progress: Ppm,
    /// CDW10 of the command that started it.
    pub(super) command: u32,
    /// Estimates for overwrite, block erase and crypto erase.
    pub(super) overwrite: Option<Nanos>,
    pub(super) block_erase: Option<Nanos>,
    pub(super) crypto_erase: Option<Nanos>,
}

/// SSTAT bits 2:0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SanitizeState {
    Never,
    /// Also where it deallocated though asked not to.
    Succeeded,
    InProgress,
    Failed,
    /// A value that \[NVME\] 2.0 reserves.
    Reserved,
}

impl SanitizeStatus {
    pub(super) fn decode(log: &[u8; BYTES]) -> Self {
        let estimate = |at| {
            let seconds = le32(log, at);
            (seconds != u32::MAX).then(|| Nanos::from_secs(u64::from(seconds)))
        };
        Self {
            state: match le16(log, 2) & 0b111 {
                0 => SanitizeState::Never,
                1 | 4 => SanitizeState::Succeeded,
                2 => SanitizeState::InProgress,
                3 => SanitizeState::Failed,
                _ => SanitizeState::Reserved,
            },
            progress: progress(le16(log, 0)),
            command: le32(log, 4),
            overwrite: estimate(8),
            block_erase: estimate(12),
            crypto_erase: estimate(16),
        }
    }

    /// Whether the operation that this tells of was started by a command with AUSE, so that its
    /// failure can be left without another sanitize.
    pub(super) fn may_exit_failure(self) -> bool {
        self.command & 1 << 3 != 0
    }
}

/// The counters of the SMART log.
pub(super) fn smart(log: &[u8; BYTES], controller: &Controller) -> HealthCounters {
    let throttled = |at, source| {
        known_if(
            controller.host_throttling,
            source,
            "the controller has no host controlled \
            thermal management (HCTMA), which these counters belong to",
        )
        .map(|()| Nanos::from_secs(u64::from(le32(log, at))))
    };
    HealthCounters {
        host_written: data_units(log, 48, "SMART log 02h, data units written, 512,000 B each"),
        host_read: data_units(log, 32, "SMART log 02h, data units read, 512,000 B each"),
        media_written: HealthCounter::NotAvailable { why: "the drive has no OCP log C0h" },
        percentage_used: HealthCounter::Known {
            value: log[5],
            source: "SMART log 02h, percentage used",
        },
        available_spare: HealthCounter::Known {
            value: log[3],
            source: "SMART log 02h, available spare",
        },
        temperature_celsius: temperature(le16(log, 1)),
        throttled_light: throttled(224, "SMART log 02h, total time for TMT1, s"),
        throttled_heavy: throttled(228, "SMART log 02h, total time for TMT2, s"),
        overheated: known_if(
            controller.warns_of_heat,
            "SMART log 02h, warning composite temperature time, min",
            "the controller has no warning temperature (WCTEMP)",
        )
        .map(|()| Nanos::from_secs(60 * u64::from(le32(log, 192)))),
        throttle_events: HealthCounter::NotAvailable { why: "the drive has no OCP log C0h" },
        power_on: HealthCounter::scaled(le128(log, 128), 1, "SMART log 02h, power on hours")
            .map(|hours| Nanos::from_secs(3600).times(hours)),
        unsafe_shutdowns: HealthCounter::scaled(
            le128(log, 144),
            1,
            "SMART log 02h, unsafe shutdowns",
        ),
        media_errors: HealthCounter::scaled(
            le128(log, 160),
            1,
            "SMART log 02h, media and data integrity errors",
        ),
    }
}

/// Adds what OCP's log knows beyond the SMART log.
pub(super) fn add_ocp(log: &[u8; BYTES], counters: &mut HealthCounters) {
    if log[496..] != OCP_GUID {
        let why = "log C0h is not OCP's: it has another GUID";
        counters.media_written = HealthCounter::NotAvailable { why };
        counters.throttle_events = HealthCounter::NotAvailable { why };
        return;
    }
    counters.media_written =
        HealthCounter::scaled(le128(log, 0), 1, "OCP log C0h, physical media units written, B")
            .map(Bytes);
    counters.throttle_events =
        HealthCounter::Known { value: log[96], source: "OCP log C0h, thermal throttling events" };
}

/// Data units; 0 stands for "not reported".
fn data_units(log: &[u8; BYTES], at: usize, source: &'static str) -> HealthCounter<Bytes> {
    match le128(log, at) {
        0 => HealthCounter::NotAvailable {
            why: "SMART log 02h has 0, which stands for not reported (or never used)",
        },
        units => HealthCounter::scaled(units, DATA_UNIT, source).map(Bytes),
    }
}

/// Composite temperature in kelvins; 0 on drives that have none.
fn temperature(kelvins: u16) -> HealthCounter<i16> {
    match i16::try_from(kelvins) {
        Ok(kelvins) if kelvins > 0 => HealthCounter::Known {
            value: kelvins - 273,
            source: "SMART log 02h, composite temperature, K",
        },
        _ => HealthCounter::NotAvailable { why: "SMART log 02h has no plausible temperature" },
    }
}

fn known_if(condition: bool, source: &'static str, why: &'static str) -> HealthCounter<()> {
    if condition {
        HealthCounter::Known { value: (), source }
    } else {
        HealthCounter::NotAvailable { why }
    }
}
