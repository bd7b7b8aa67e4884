//! `PostMark` on newly made filesystems: compares both mount options and both bufferings.
//!
//! Each run gets a filesystem of its own. Runs are interleaved, the order reversed in every other
//! repetition (A B B A), so that drift does not look like an effect. Source: \[S0\].

use trimbench_core::rng::Rng;
use trimbench_core::{
    Bytes, Clock, DiscardMode, FilesystemSpec, Instant, Nanos, Provisioner, Support,
};

use super::generator::Forecast;
use super::options::{Postmark, RepetitionVariation};
use super::steps::PostmarkMadeStep;
use trimbench_engine::{ASSUMED_RATE, Method as _, MethodError, MethodSession, Runner, check_fit};

#[cfg(test)]
mod tests;

/// One column of \[S0\]'s tables, but for the differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Mounted with `discard`, or with `nodiscard`.
    pub discard: bool,
    /// Files are moved by the C library (`fwrite`), or by system calls (`write`).
    pub buffered: bool,
}

impl Variant {
    /// Every one, in the order of \[S0\].
    pub(super) const ALL: [Self; 4] = [
        Self { discard: false, buffered: true },
        Self { discard: true, buffered: true },
        Self { discard: false, buffered: false },
        Self { discard: true, buffered: false },
    ];

    /// The kind of its steps, and the end of its figures' ids.
    pub(super) fn id(self) -> String {
        format!("{}-{}", self.mount(), buffering(self.buffered))
    }

    /// The mount option.
    pub(super) fn mount(self) -> &'static str {
        if self.discard { "discard" } else { "nodiscard" }
    }
}

/// How a buffering is called in ids.
pub(super) fn buffering(buffered: bool) -> &'static str {
    if buffered { "buffered" } else { "unbuffered" }
}

impl Postmark {
    /// The same with another seed of `PostMark`'s generator.
    pub(super) fn with_seed(&self, seed: u32) -> Self {
        let mut varied = self.clone();
        varied.settings.seed = seed;
        varied.forecast = Forecast::new(&varied.settings);
        varied
    }

    /// The same with files moved so.
    fn with_buffering(mut self, buffered: bool) -> Self {
        self.buffered = buffered;
        self
    }

    /// All runs: repetition, counted from 1, and arm.
    fn order(&self, repetitions: u32) -> impl Iterator<Item = (u32, Variant)> {
        (1..=repetitions).flat_map(|repetition| {
            let mut variants = self.variants.clone();
            if repetition % 2 == 0 {
                variants.reverse();
            }
            variants.into_iter().map(move |variant| (repetition, variant))
        })
    }
}

/// A repetition's seed of `PostMark`, drawn from the run's: it depends on nothing else, so that all
/// variants have the same one, also after a resumption.
fn drawn_seed(rng: &Rng, repetition: u32) -> u32 {
    let bits = rng.split(&format!("seed-{repetition}")).bits();
    u32::try_from(bits >> 32).expect("32 bits are left")
}

/// Runs the method on filesystems made for it.
pub(super) fn run(
    method: &Postmark,
    provisioner: &mut dyn Provisioner,
    session: &mut MethodSession<'_>,
) -> Result<(), MethodError> {
    let capabilities = provisioner.capabilities();
    if capabilities.discard == Support::None
        && method.variants.iter().any(|variant| variant.discard)
    {
        let reason = "the device takes no discards, so that both mount options would be the same; \
                      use `--set mounts=nodiscard`";
        return Err(MethodError::Unfit { reason: reason.into() });
    }
    let is_virtual = capabilities.clock == Clock::Virtual;
    let vary = match method.vary {
        RepetitionVariation::Auto => is_virtual,
        RepetitionVariation::Yes | RepetitionVariation::Drawn => true,
        RepetitionVariation::No => false,
    };
    // In virtual time equal repetitions are copies of each other.
    let repetitions = if is_virtual && !vary { 1 } else { method.repetitions };
    let runs: Vec<(u32, Variant, String)> = method
        .order(repetitions)
        .map(|(repetition, variant)| {
            (repetition, variant, format!("{}-{repetition}", variant.id()))
        })
        .collect();
    let once = Nanos(method.demand(Bytes(0), ASSUMED_RATE).time.0 / u64::from(method.repetitions));
    session.plan(runs.iter().map(|(.., id)| id.clone()), once.times(runs.len() as u64));
    let mut runner = Runner::new(session.interrupt.clone());
    let mut now = Instant::START;
    for (repetition, variant, id) in runs {
        if session.is_done(&id) {
            continue;
        }
        session.announce(&id, now);
        let seed = match method.vary {
            RepetitionVariation::Drawn => drawn_seed(session.rng, repetition),
            _ if vary => method.settings.seed.wrapping_add(repetition - 1),
            _ => method.settings.seed,
        };
        let varied = method.with_seed(seed).with_buffering(variant.buffered);
        let start_state = (is_virtual && vary).then_some(repetition);
        provisioner.make(&FilesystemSpec {
            discard: if variant.discard { DiscardMode::Online } else { DiscardMode::Off },
            mkfs_discard: method.mkfs_discard,
            settle: method.settle,
            discard_max: None,
            start_state,
        })?;
        let files = provisioner.files();
        check_fit(&varied, files.capabilities())?;
        let mut step = super::session::repeat(&varied, files, &mut runner, id)?;
        step.kind = variant.id();
        now = provisioner.files().now();
        step.store(&PostmarkMadeStep {
            repetition: repetition.into(),
            seed: seed.into(),
            start_state: start_state.map(u64::from),
            unmount_s: provisioner.unmount()?.seconds(),
        });
        session.keep(step)?;
    }
    session.hash(runner.trace_hash());
    Ok(())
}
