//! Helpers for the tests of methods: devices, a monitor that saves steps, runs.

mod drives;
mod files;
mod toy;

use std::collections::BTreeMap;

use trimbench_core::rng::Rng;
use trimbench_core::{
    BlockSize, Bytes, Capabilities, Clock, Device, DrainRule, Interrupt, Medium, Nanos, Opened,
    Support, Virtual,
};
use trimbench_devices::{ModelledFilesystems, ModelledSpec, TargetSpec};
use trimbench_results::{Figure, Metric, Step};
use trimbench_trace::NoTraces;

use crate::method::MethodError;
use crate::method::session::{KeepFailed, Monitor, SessionContext, Stage};
use crate::method::{self, Method, MethodResult, NEEDS_A_DEVICE};
use crate::slots::Slots;

pub use drives::{Emulated, Lying, drive, emulated, faulty, profile, small_tlc};
pub use files::{DISCARDS_AFTER, ToyFiles, taken};
pub use toy::Toy;

/// Keeps what a session showed and measured; asks for the end after some steps.
#[derive(Default)]
pub struct KeptSteps {
    pub steps: Vec<Step>,
    pub stages: Vec<(String, usize, usize, Nanos)>,
    stop_after: Option<usize>,
    pub interrupt: Interrupt,
}

impl KeptSteps {
    /// Asks for the end after so many steps.
    pub fn stopping_after(count: usize) -> Self {
        Self { stop_after: Some(count), ..Self::default() }
    }

    /// Ids of the steps.
    pub fn kept(&self) -> Vec<&str> {
        self.steps.iter().map(|step| step.id.as_str()).collect()
    }
}

impl Monitor for KeptSteps {
    fn stage(&mut self, stage: &Stage<'_>) {
        self.stages.push((stage.text.to_owned(), stage.done, stage.total, stage.left));
    }

    fn keep(&mut self, step: &Step) -> Result<(), KeepFailed> {
        self.steps.push(step.clone());
        if self.stop_after == Some(self.steps.len()) {
            self.interrupt.request();
        }
        Ok(())
    }
}

/// Runs a method on a device.
pub fn run(
    method: &dyn Method,
    device: &mut dyn Device,
    kept: &mut KeptSteps,
) -> Result<MethodResult, MethodError> {
    resume(method, device, kept, Vec::new())
}

/// The same after steps that are done.
pub fn resume(
    method: &dyn Method,
    device: &mut dyn Device,
    kept: &mut KeptSteps,
    done: Vec<Step>,
) -> Result<MethodResult, MethodError> {
    run_on(method, Opened::Device(device), kept, done)
}

/// Runs a method on whatever it is, after steps that are done.
pub fn run_on(
    method: &dyn Method,
    on: Opened<'_>,
    kept: &mut KeptSteps,
    done: Vec<Step>,
) -> Result<MethodResult, MethodError> {
    in_context(kept, done, |context| method::run(method, on, context))
}

/// Runs what takes a context, after steps that are done.
pub fn in_context<R>(
    kept: &mut KeptSteps,
    done: Vec<Step>,
    run: impl FnOnce(SessionContext<'_>) -> R,
) -> R {
    let interrupt = kept.interrupt.clone();
    run(SessionContext {
        rng: &Rng::new(7),
        interrupt: &interrupt,
        monitor: kept,
        traces: &NoTraces,
        slots: &Slots::new(1, Bytes(0)),
        done,
    })
}

/// Runs a method in a directory, after steps that are done.
pub fn run_on_files(
    method: &dyn Method,
    directory: &mut Virtual<ToyFiles>,
    kept: &mut KeptSteps,
    done: Vec<Step>,
) -> Result<MethodResult, MethodError> {
    run_on(method, Opened::Directory(directory), kept, done)
}

/// The modelled filesystem of this target text.
pub fn modelled(text: &str) -> ModelledFilesystems {
    let spec = TargetSpec::parse(text, None).unwrap();
    let spec = spec.as_kind::<ModelledSpec>().expect("it is a modelled filesystem");
    spec.provision(Bytes(0), 7).unwrap().target
}

pub fn settings(set: &[(&str, &str)]) -> BTreeMap<String, String> {
    set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub fn figure<'a>(figures: &'a [Figure], id: &str) -> &'a Figure {
    figures.iter().find(|figure| figure.id == id).unwrap_or_else(|| panic!("{id} is found"))
}

pub fn close(value: f64, expected: f64) {
    let off = (value - expected).abs();
    assert!(off <= 1e-6 * expected.abs() + 1e-12, "{value} instead of {expected}");
}

/// What a device says that takes discards of up to `discard_max`.
pub fn says(capacity: Bytes, granularity: Bytes, discard_max: Bytes) -> Capabilities {
    Capabilities {
        clock: Clock::Virtual,
        medium: Medium::Device { capacity, logical_block: BlockSize::SECTOR },
        discard: Support::Native,
        discard_max,
        discard_granularity: granularity,
        queue_depth: 32,
        drain: DrainRule::IMMEDIATE,
    }
}

/// Each figure that was found is one of these metrics.
pub fn assert_defined(metrics: &[Metric], found: &[Figure]) {
    for figure in found {
        let metric = metrics.iter().find(|metric| metric.id == figure.id);
        let metric = metric.unwrap_or_else(|| panic!("`{}` is not defined", figure.id));
        let measured = (figure.title.as_str(), figure.unit.as_str(), figure.direction);
        assert_eq!(measured, (&*metric.title, metric.unit, metric.direction), "{}", figure.id);
        assert_eq!(figure.coordinates, metric.coordinates, "{}", figure.id);
        assert!(metric.headline || !figure.headline, "{}", figure.id);
    }
}

/// Fails unless the method refuses directories and devices without discards, and nothing else here.
pub fn assert_needs_discards(method: &dyn Method) {
    let good = says(Bytes::gib(1), Bytes(4_096), Bytes::gib(1));
    assert_eq!(method.fits(&good), Ok(()));
    let medium = Medium::Directory { available: Bytes::gib(9), fs_block: Bytes(4_096) };
    let reason = method.fits(&Capabilities { medium, ..good.clone() }).unwrap_err();
    assert_eq!(reason, NEEDS_A_DEVICE.into());
    let none = Capabilities { discard: Support::None, ..good.clone() };
    let no_length = Capabilities { discard_max: Bytes(0), ..good };
    for without in [none, no_length] {
        assert!(method.fits(&without).unwrap_err().to_string().contains("takes no discards"));
    }
}
