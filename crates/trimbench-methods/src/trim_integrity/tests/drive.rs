//! Emulated drives, and ones whose answers are spoilt.

use std::collections::BTreeMap;

use trimbench_core::fault::{FaultPlan, Faulty};
use trimbench_core::rng::Rng;
use trimbench_core::{
    BlockCommand, Blocks, Bytes, Capabilities, Completion, Content, Drive, DriveError, Instant,
    Interrupt, Lba, LbaRange, PurgeMeans, Rejected, Statistics, Tag, Target, TrimPromise, Virtual,
    Wear,
};
use trimbench_results::Step;
use trimbench_ssd::{Profile, Ssd, SsdConfig};

use crate::method::{Context, Found, KeepFailed, MethodError, Monitor, Preset, Procedure, Stage};
use crate::trim_integrity::TrimIntegrity;

pub(super) type Device = Virtual<Faulty<Ssd>>;

/// A small SATA drive that promises zeroes and reads them.
pub(super) fn config() -> SsdConfig {
    let profile = Profile::built_in("generic-sata-tlc").unwrap();
    profile.with_capacity(Bytes::mib(256)).config
}

pub(super) fn device(config: SsdConfig) -> Device {
    faulty(config, None, None)
}

pub(super) fn faulty(
    config: SsdConfig,
    fail_from: Option<Instant>,
    vanish_from: Option<Instant>,
) -> Device {
    let mut ssd = config.build().unwrap();
    let capacity = ssd.config().capacity;
    ssd.precondition_sequential(Bytes(0), capacity);
    let plan = FaultPlan { fail_from, vanish_from, ..FaultPlan::default() };
    Virtual::new(Faulty::new(ssd, plan))
}

/// The quick preset on 16 MiB.
pub(super) fn method(set: &[(&str, &str)]) -> TrimIntegrity {
    let mut all = BTreeMap::from([("region".to_owned(), "16MiB".to_owned())]);
    all.extend(set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    TrimIntegrity::resolve(Preset::Quick, &all).unwrap()
}

pub(super) fn run<D>(device: &mut D, method: &TrimIntegrity) -> Found
where
    D: Target<Command = BlockCommand> + Drive,
{
    run_with(device, method, Vec::new()).0.unwrap()
}

/// How it ended, and the steps that were kept.
pub(super) fn run_with<D>(
    device: &mut D,
    method: &TrimIntegrity,
    done: Vec<Step>,
) -> (Result<Found, MethodError>, Vec<Step>)
where
    D: Target<Command = BlockCommand> + Drive,
{
    let mut kept = Kept::default();
    let ended = kept.run(device, method, done);
    (ended, kept.steps)
}

/// Keeps steps.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) steps: Vec<Step>,
    /// Asks for the end after so many.
    pub(super) stop_after: Option<usize>,
    interrupt: Interrupt,
}

impl Kept {
    pub(super) fn run<D>(
        &mut self,
        device: &mut D,
        method: &TrimIntegrity,
        done: Vec<Step>,
    ) -> Result<Found, MethodError>
    where
        D: Target<Command = BlockCommand> + Drive,
    {
        let interrupt = self.interrupt.clone();
        let context = Context { rng: &Rng::new(1), interrupt: &interrupt, monitor: self, done };
        method.run_on_device(device, context)
    }
}

impl Monitor for Kept {
    fn stage(&mut self, stage: &Stage<'_>) {
        assert!(stage.done < stage.total);
    }

    fn keep(&mut self, step: &Step) -> Result<(), KeepFailed> {
        self.steps.push(step.clone());
        if self.stop_after == Some(self.steps.len()) {
            self.interrupt.request();
        }
        Ok(())
    }
}

/// A drive whose reads go through a function of the number of the read of LBA 0, the address and
/// what the drive holds.
pub(super) struct Spoilt<F> {
    device: Device,
    pub(super) capabilities: Capabilities,
    /// Flushes are acknowledged and not done.
    pub(super) ignores_flushes: bool,
    /// The power cannot be cut.
    pub(super) never_cut: bool,
    spoil: F,
    reads: u64,
}

impl<F> Spoilt<F>
where
    F: FnMut(u64, Lba, Content) -> Content,
{
    pub(super) fn new(device: Device, spoil: F) -> Self {
        let capabilities = device.capabilities().clone();
        Self { capabilities, device, ignores_flushes: false, never_cut: false, spoil, reads: 0 }
    }
}

impl<F> Target for Spoilt<F> {
    type Command = BlockCommand;

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn now(&self) -> Instant {
        self.device.now()
    }

    fn submit(&mut self, tag: Tag, command: BlockCommand) -> Result<(), Rejected> {
        let nothing = BlockCommand::Read(LbaRange::new(Lba(0), Blocks(1)).unwrap());
        let ignored = self.ignores_flushes && command == BlockCommand::Flush;
        self.device.submit(tag, if ignored { nothing } else { command })
    }

    fn reap(&mut self, deadline: Instant, out: &mut Vec<Completion>) {
        self.device.reap(deadline, out);
    }

    fn statistics(&self) -> Statistics {
        self.device.statistics()
    }
}

impl<F> Drive for Spoilt<F>
where
    F: FnMut(u64, Lba, Content) -> Content,
{
    fn purge_means(&self) -> PurgeMeans {
        self.device.purge_means()
    }

    fn purge(&mut self) -> Result<(), DriveError> {
        self.device.purge()
    }

    fn examine(&mut self, range: LbaRange, out: &mut Vec<Content>) -> Result<(), DriveError> {
        self.reads += u64::from(range.start().0 == 0);
        let first = out.len();
        self.device.examine(range, out)?;
        for (lba, content) in (range.start().0..).zip(&mut out[first..]) {
            *content = (self.spoil)(self.reads - 1, Lba(lba), *content);
        }
        Ok(())
    }

    fn power_cut(&mut self) -> Result<(), DriveError> {
        if self.never_cut {
            let reason = "it has a battery".to_owned();
            return Err(DriveError::Refused { operation: "power cut", reason });
        }
        self.device.power_cut()
    }

    fn discard_alignment(&self) -> Bytes {
        self.device.discard_alignment()
    }

    fn trim_promise(&self) -> TrimPromise {
        self.device.trim_promise()
    }

    fn wear(&mut self) -> Option<Wear> {
        self.device.wear()
    }
}
