//! The metrics of the method: each measure in each arm, what an arm adds to it, and the smallest
//! difference that would have been found.

use Direction::{Higher, Lower, Neither};
use trimbench_core::Nanos;
use trimbench_core::settings::Named as _;
use trimbench_results::{
    Coordinates, Direction, LatencyHistogram, Metric, MetricAxis, Quantile, Role,
};

use super::options::{Ab, AbArm};
use super::steps::AbVisitStep;

/// The fewest blocks: of nine differences the interval at [`LEVEL`] has its ends.
pub(super) const BLOCKS_MIN: u32 = 9;
/// Level of the intervals of differences: with ten measures, where an arm changes nothing, at most
/// one run in 20 says of any of them that it does (Bonferroni).
pub(super) const LEVEL: f64 = 1.0 - 0.05 / MEASURES_MAX as f64;
/// So many are measured of one load at the most.
const MEASURES_MAX: usize = 10;

/// From which difference on a measure is noticed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Noticed {
    /// The method's option.
    ByOption,
    /// This time: from a tenth of a second on people feel a wait, from a second on it interrupts
    /// them. Source: J. Nielsen, "Usability Engineering" (1993), section 5.5.
    After(Nanos),
    /// This share of the value without TRIM: less than the 5 % that advice takes for no slowdown.
    Share(f64),
}

/// Something that is measured in every visit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    /// How its figures begin.
    pub(super) id: &'static str,
    words: &'static str,
    /// Its unit.
    pub(super) unit: &'static str,
    direction: Direction,
    /// Its value in a visit.
    pub(super) value: fn(&AbVisitStep) -> Option<f64>,
    /// From which difference on it is noticed.
    pub(super) noticed: Noticed,
}

/// Of the load that is built in, and of a trace; the headline is of the first.
const OF_LOAD: [Measure; MEASURES_MAX] = [
    measure("access-p99.9", "p99.9 of reads and writes", |it| of_accesses(it, Quantile::P99_9)),
    measure("access-p99", "p99 of reads and writes", |it| of_accesses(it, Quantile::P99)),
    measure("access-p50", "median of reads and writes", |it| of_accesses(it, Quantile::P50)),
    measure("access-max", "longest read or write", |it| ms(it.load.as_ref()?.response_s_max)),
    Measure {
        unit: "1/s",
        direction: Higher,
        noticed: Noticed::Share(0.05),
        ..measure("served", "reads and writes served a second", |it| {
            Some(it.load.as_ref()?.served_per_s)
        })
    },
    measure("fsync-p99", "p99 of small writes with fsync", |it| {
        percentile(it.load.as_ref()?.fsync_time.as_ref(), Quantile::P99)
    }),
    measure("fsync-max", "longest small write with fsync", |it| {
        ms(it.load.as_ref()?.fsync_s_max?)
    }),
    Measure {
        noticed: Noticed::After(Nanos::from_millis(100)),
        ..measure("start-p50", "median start of a program", |it| {
            percentile(it.load.as_ref()?.start_time.as_ref(), Quantile::P50)
        })
    },
    Measure {
        noticed: Noticed::After(Nanos::from_millis(100)),
        ..measure("start-max", "longest start of a program", |it| {
            ms(it.load.as_ref()?.start_s_max?)
        })
    },
    Measure {
        noticed: Noticed::After(Nanos::from_secs(1)),
        ..measure("deletion", "the deletion itself", |it| ms(it.load.as_ref()?.deletion_s))
    },
];

/// Of a command of the user's; the headline is of the first.
const OF_PROGRAM: [Measure; 9] = [
    Measure {
        unit: "s",
        noticed: Noticed::Share(0.05),
        ..measure("command", "time of the command", |it| Some(it.program.as_ref()?.program_s))
    },
    measure("reported-p99.9", "p99.9 that the command reports", |it| {
        ms(it.program.as_ref()?.reported?.reported_s_p999)
    }),
    measure("reported-p99", "p99 that the command reports", |it| {
        ms(it.program.as_ref()?.reported?.reported_s_p99)
    }),
    measure("reported-p50", "median that the command reports", |it| {
        ms(it.program.as_ref()?.reported?.reported_s_p50)
    }),
    measure("reported-max", "longest wait that the command reports", |it| {
        ms(it.program.as_ref()?.reported?.reported_s_max)
    }),
    measure("request-p99.9", "p99.9 of requests of the device", |it| {
        percentile(it.program.as_ref()?.request_time.as_ref(), Quantile::P99_9)
    }),
    measure("request-p99", "p99 of requests of the device", |it| {
        percentile(it.program.as_ref()?.request_time.as_ref(), Quantile::P99)
    }),
    measure("request-p50", "median of requests of the device", |it| {
        percentile(it.program.as_ref()?.request_time.as_ref(), Quantile::P50)
    }),
    measure("request-max", "longest request of the device", |it| {
        ms(it.program.as_ref()?.request_s_max?)
    }),
];

/// What is measured of the method's load.
pub(super) fn measures(method: &Ab) -> &'static [Measure] {
    if method.command.is_some() { &OF_PROGRAM } else { &OF_LOAD }
}

/// Those that tell whether the target changed by itself meanwhile.
pub(super) fn drifting(method: &Ab) -> &'static [Measure] {
    if method.command.is_some() { &OF_PROGRAM[..1] } else { &OF_LOAD[1..3] }
}

const fn measure(
    id: &'static str,
    words: &'static str,
    value: fn(&AbVisitStep) -> Option<f64>,
) -> Measure {
    Measure { id, words, unit: "ms", direction: Lower, value, noticed: Noticed::ByOption }
}

fn of_accesses(visit: &AbVisitStep, quantile: Quantile) -> Option<f64> {
    percentile(Some(&visit.load.as_ref()?.response_time), quantile)
}

fn percentile(times: Option<&LatencyHistogram>, quantile: Quantile) -> Option<f64> {
    ms(times?.percentile(quantile)?.seconds())
}

#[expect(clippy::unnecessary_wraps, reason = "as the values of measures are")]
fn ms(seconds: f64) -> Option<f64> {
    Some(seconds * 1e3)
}

impl Measure {
    /// Its value in an arm.
    pub(super) fn in_arm(self, arm: AbArm) -> Metric {
        let id = format!("{}-{}", self.id, arm.id());
        match arm {
            AbArm::Nodiscard => {
                let place = self.place().called(MetricAxis::Side, "nodiscard", "with `nodiscard`");
                Metric::placed(id, place, self.unit, self.direction)
            }
            arm => Metric::placed(id, self.beside("with", "with", arm), self.unit, self.direction),
        }
    }

    /// What an arm adds to that of `nodiscard`.
    pub(super) fn added_by(self, arm: AbArm) -> Metric {
        let id = format!("{}-{}-added", self.id, arm.id());
        let place = self.beside("added", "added by", arm);
        let metric = Metric::placed(id, place, self.unit, self.direction);
        let is_everyday = matches!(arm, AbArm::Discard | AbArm::DiscardAsync);
        match self.id {
            id if id == OF_LOAD[0].id => {
                Metric { role: is_everyday.then_some(Role::TailAdded), ..metric }.headline()
            }
            id if id == OF_PROGRAM[0].id => metric.headline(),
            _ => metric,
        }
    }

    /// The smallest difference that nine of ten runs with this noise would find.
    pub(super) fn found_from(self, arm: AbArm) -> Metric {
        let id = format!("{}-{}-found-from", self.id, arm.id());
        let place = self.beside("found-from", "smallest difference that would be found of", arm);
        Metric::placed(id, place, self.unit, Neither)
    }

    /// How much it changed with `nodiscard` from the first block to the last, in percent.
    pub(super) fn drift(self) -> Metric {
        let title = format!("{}, change from the first block to the last", self.words);
        Metric::member(format!("{}-drift", self.id), title, "%", Neither)
    }

    fn place(self) -> Coordinates {
        Coordinates::of_measure(self.id, self.words)
    }

    fn beside(self, side: &str, words: &str, arm: AbArm) -> Coordinates {
        let place = self.place().called(MetricAxis::Side, side, words);
        place.called(MetricAxis::Arm, arm.id(), format!("`{}`", arm.words()))
    }

    /// From which difference on it is noticed, in its unit.
    pub(super) fn noticeable(self, method: &Ab, without: f64) -> f64 {
        match self.noticed {
            Noticed::ByOption => method.noticeable.0 as f64 / 1e6,
            Noticed::After(span) => span.0 as f64 / 1e6,
            Noticed::Share(share) => share * without,
        }
    }

    /// By how much worse a value is than another one.
    pub(super) fn worse_by(self, difference: f64) -> f64 {
        if self.direction == Higher { -difference } else { difference }
    }
}

/// All of them.
pub(super) fn metrics(method: &Ab) -> Vec<Metric> {
    let (arms, measures) = (method.possible_arms(), measures(method));
    let mut metrics = Vec::new();
    for arm in arms.iter().copied().filter(|arm| *arm != AbArm::Nodiscard) {
        metrics.extend(measures.iter().map(|it| it.added_by(arm)));
    }
    for arm in &arms {
        metrics.extend(measures.iter().map(|it| it.in_arm(*arm)));
    }
    for arm in arms.iter().copied().filter(|arm| *arm != AbArm::Nodiscard) {
        metrics.extend(measures.iter().map(|it| it.found_from(arm)));
    }
    metrics.extend(drifting(method).iter().map(|it| it.drift()));
    metrics
}
