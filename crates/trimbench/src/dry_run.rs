//! What `--dry-run` prints: what would be done, what it takes, and what it needs.

use std::fmt::Write;

use trimbench_core::text::visible;
use trimbench_core::{BlockSize, Bytes, Capabilities, Clock, DrainRule, Medium, Nanos, Support};
use trimbench_methods::Demand;
use trimbench_results::PlannedSession;
use trimbench_target::{DeviceOutlook, EmulatedSpec, PurgeChoice, TargetSpec, inspect_device};

use crate::failure::Failure;
use crate::plan::{Plan, Session};
use crate::trace::TraceFiles;

/// Full writes that a drive is assumed to be rated for: 0.3 a day for five years, as many client
/// drives.
const RATED_DRIVE_WRITES: f64 = 550.0;

/// The whole plan.
pub(crate) fn describe(plan: &Plan) -> String {
    let mut text = format!("seed {}\n", plan.seed);
    for session in &plan.sessions {
        session.describe(&mut text, plan);
    }
    text
}

impl Session {
    fn describe(&self, text: &mut String, plan: &Plan) {
        let PlannedSession { method, target, preset, .. } = &self.planned;
        let _ = writeln!(text, "\n{method} ({preset}) on {}", visible(target));
        match &self.target {
            TargetSpec::Emulated(spec) => {
                let capacity = spec.capacity();
                if let Err(reason) = self.method.fits(&ideal_device(capacity)) {
                    fact(text, "left out", &reason);
                    return;
                }
                fact(text, "profile", &spec.profile().summary);
                fact(text, "provenance", &spec.profile().provenance.to_string());
                if self.describe_demand(text, Some(capacity), "virtual").is_none() {
                    return;
                }
                self.describe_memory(text, spec, 1);
                fact(text, "destroys", "nothing: the drive is emulated");
                fact(text, "privileges", "none");
            }
            TargetSpec::Modelled(spec) => {
                self.describe_modelled(text, (spec.drive(), 1), spec.drive().capacity());
            }
            TargetSpec::Pool(spec) => {
                self.describe_modelled(text, (spec.drive(), spec.drives()), spec.room());
            }
            TargetSpec::Directory(_) => {
                if let Err(reason) = self.method.fits(&ideal_directory(Bytes(u64::MAX))) {
                    fact(text, "left out", &reason);
                    return;
                }
                if self.describe_demand(text, None, "wall").is_none() {
                    return;
                }
                fact(text, "destroys", "nothing: works in what it makes itself");
                fact(text, "privileges", "to write in the directory; root for `mode=trim`");
                fact(text, "not checked", "room, permission and discards: when it starts");
            }
            TargetSpec::Device(path) => match inspect_device(path, &plan.consent) {
                Err(error) => fact(text, "refused", &error.to_string()),
                Ok(device) => {
                    let ideal = ideal_device(device.capacity);
                    self.describe_device(text, (&device, &ideal), Some(plan.purge));
                }
            },
            TargetSpec::Real(spec) => match inspect_device(spec.path(), &plan.consent) {
                Err(error) => fact(text, "refused", &error.to_string()),
                Ok(device) => {
                    let ideal = ideal_directory(device.capacity);
                    self.describe_device(text, (&device, &ideal), None);
                }
            },
        }
    }

    /// `capacity` is what files may take at most.
    fn describe_modelled(
        &self,
        text: &mut String,
        (drive, count): (&EmulatedSpec, usize),
        capacity: Bytes,
    ) {
        if let Err(reason) = self.method.fits(&ideal_directory(capacity)) {
            fact(text, "left out", &reason);
            return;
        }
        fact(text, "profile", &drive.profile().summary);
        fact(text, "provenance", &drive.profile().provenance.to_string());
        if self.describe_demand(text, Some(capacity), "virtual").is_none() {
            return;
        }
        self.describe_memory(text, drive, count);
        fact(text, "destroys", "nothing: filesystem and drive are models");
        fact(text, "privileges", "none");
    }

    /// What `count` emulated drives keep in memory, beside some 15 MB for all else.
    fn describe_memory(&self, text: &mut String, drive: &EmulatedSpec, count: usize) {
        let tables = rough_bytes(Bytes(drive.memory().0.saturating_mul(count as u64)));
        let also = if self.method.drives_at_once() > 1 {
            "; twice that where two passes have room side by side"
        } else {
            ""
        };
        fact(text, "memory", &format!("about {tables} for the tables of emulated drives{also}"));
    }

    /// `purge` is `None` where filesystems are made on it.
    fn describe_device(
        &self,
        text: &mut String,
        (device, ideal): (&DeviceOutlook, &Capabilities),
        purge: Option<PurgeChoice>,
    ) {
        for line in device.stack.lines() {
            let _ = writeln!(text, "  {line}");
        }
        if let Err(reason) = self.method.fits(ideal) {
            fact(text, "left out", &reason);
            return;
        }
        let Some(written) = self.describe_demand(text, Some(device.capacity), "wall") else {
            return;
        };
        let share = written.0 as f64 / device.capacity.0 as f64 / RATED_DRIVE_WRITES * 100.0;
        let rated = format!(
            "about {share:.2} % of what a drive rated for {RATED_DRIVE_WRITES} full writes endures \
             (assumed: see the drive's data sheet)"
        );
        fact(text, "endurance", &rated);
        fact(text, "destroys", "everything on it");
        if let Some(purge) = purge {
            fact(text, "purge", &format!("{purge} (`--purge`)"));
            fact(text, "privileges", "to open it for writing: for a device root, or its group");
        } else {
            fact(text, "privileges", "root: to attach a loop device and to mount");
        }
        match &device.refusal {
            Some((refusal, hint)) => {
                fact(text, "refused", refusal);
                fact(text, "hint", hint);
            }
            None => fact(text, "not checked", "whether someone opens it before the run does"),
        }
    }

    /// What the method takes; the bytes that it writes. `None` where a trace cannot be replayed.
    fn describe_demand(
        &self,
        text: &mut String,
        capacity: Option<Bytes>,
        clock: &str,
    ) -> Option<Bytes> {
        let of = capacity.unwrap_or(Bytes(0));
        let demand = match self.target {
            TargetSpec::Modelled(_) | TargetSpec::Real(_) => {
                Ok(self.method.demand_on_filesystems(of))
            }
            _ => self.method.demand_with_traces(of, &TraceFiles),
        };
        let Demand { written, time } = match demand {
            Ok(demand) => demand,
            Err(error) => {
                fact(text, "refused", &Failure::from(error).message());
                return None;
            }
        };
        if let Err(failure) = self.check_trace() {
            fact(text, "refused", &failure.message());
            return None;
        }
        fact(text, "space", &format!("{} needed", self.method.space()));
        let fills = capacity.filter(|capacity| capacity.0 > 0).map(|capacity| {
            format!(", {:.1} times the drive", written.0 as f64 / capacity.0 as f64)
        });
        let rough = rough_bytes(written);
        fact(text, "writes", &format!("at most about {rough}{}", fills.unwrap_or_default()));
        fact(text, "time", &format!("about {} of {clock} time", rough_span(time)));
        Some(written)
    }
}

/// One line.
fn fact(text: &mut String, label: &str, value: &str) {
    let _ = writeln!(text, "  {label:12} {}", visible(value));
}

/// A directory with so much room that lacks nothing else: what does not fit it fits none.
fn ideal_directory(available: Bytes) -> Capabilities {
    Capabilities {
        clock: Clock::Wall,
        medium: Medium::Directory { available, fs_block: Bytes(4_096) },
        discard: Support::Native,
        discard_max: Bytes(u64::MAX),
        discard_granularity: Bytes(4_096),
        queue_depth: 32,
        drain: DrainRule::IMMEDIATE,
    }
}

/// A device of this capacity that lacks nothing.
fn ideal_device(capacity: Bytes) -> Capabilities {
    let medium = Medium::Device { capacity, logical_block: BlockSize::SECTOR };
    Capabilities { medium, ..ideal_directory(capacity) }
}

/// To three digits, in decimal units as drives are sold.
fn rough_bytes(bytes: Bytes) -> String {
    let value = bytes.0 as f64;
    let (unit, size) = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6)]
        .into_iter()
        .find(|(_, size)| value >= *size)
        .unwrap_or(("kB", 1e3));
    let scaled = value / size;
    let digits = if scaled < 10.0 { 2 } else { usize::from(scaled < 100.0) };
    format!("{scaled:.digits$} {unit}")
}

/// A span to the second or the minute.
fn rough_span(span: Nanos) -> String {
    let seconds = span.0.div_ceil(1_000_000_000);
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}
