//! Emulated drives, and ones whose answers are spoilt.

use trimbench_core::fault::{FaultPlan, Faulty};
use trimbench_core::{
    BlockCommand, Blocks, Bytes, Capabilities, Completion, Content, DeviceStatistics, Drive,
    DriveError, Instant, Lba, LbaRange, PurgeMeans, Rejected, Tag, Target, TrimPromise, Virtual,
    Wear,
};
use trimbench_core::{Device, Storage};
use trimbench_results::Step;
use trimbench_ssd::{Profile, SsdConfig};

use crate::trim_integrity::TrimIntegrity;
use trimbench_engine::testing::{Emulated, KeptSteps, resume, settings};
use trimbench_engine::{MethodDefinition as _, MethodError, MethodResult, Preset};

/// A small SATA drive that promises zeroes and reads them.
pub(super) fn config() -> SsdConfig {
    let profile = Profile::built_in("generic-sata-tlc").unwrap();
    SsdConfig { capacity: Bytes::mib(256), ..profile.config }
}

pub(super) fn device(config: SsdConfig) -> Emulated {
    faulty(config, None, None)
}

pub(super) fn faulty(
    config: SsdConfig,
    fail_from: Option<Instant>,
    vanish_from: Option<Instant>,
) -> Emulated {
    let mut ssd = config.build().unwrap();
    let capacity = ssd.config().capacity;
    ssd.precondition_sequential(Bytes(0), capacity);
    let plan = FaultPlan { fail_from, vanish_from, ..FaultPlan::default() };
    Virtual::new(Faulty::new(ssd, plan))
}

/// The quick preset on 16 MiB.
pub(super) fn method(set: &[(&str, &str)]) -> TrimIntegrity {
    let all = settings(&[&[("region", "16MiB")], set].concat());
    TrimIntegrity::resolve(Preset::Quick, &all).unwrap()
}

pub(super) fn run(device: &mut dyn Device, method: &TrimIntegrity) -> MethodResult {
    run_with(device, method, Vec::new()).0.unwrap()
}

/// How it ended, and the steps that were kept.
pub(super) fn run_with(
    device: &mut dyn Device,
    method: &TrimIntegrity,
    done: Vec<Step>,
) -> (Result<MethodResult, MethodError>, Vec<Step>) {
    let mut keeper = KeptSteps::default();
    let ended = resume(method, device, &mut keeper, done);
    assert!(keeper.stages.iter().all(|&(_, done, total, _)| done < total));
    (ended, keeper.steps)
}

/// A drive whose reads go through a function of the number of the read of LBA 0, the address and
/// what the drive holds.
pub(super) struct Spoilt<F> {
    device: Emulated,
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
    pub(super) fn new(device: Emulated, spoil: F) -> Self {
        let capabilities = device.capabilities().clone();
        Self { capabilities, device, ignores_flushes: false, never_cut: false, spoil, reads: 0 }
    }
}

impl<F> Storage for Spoilt<F> {
    type Command = BlockCommand;

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn statistics(&self) -> DeviceStatistics {
        self.device.statistics()
    }
}

impl<F> Target for Spoilt<F> {
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
