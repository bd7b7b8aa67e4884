//! A drive that follows a script: it expects exactly these commands in this order, and answers as
//! written. What else is sent, or is missing at the end, fails the test.

use std::collections::VecDeque;

use trimbench_core::{Errno, Nanos};

use crate::ioctl::{Data, NvmeCommand, ScsiOutcome};
use crate::passthrough::transport::Transport;

/// One exchange.
#[derive(Debug)]
pub(in crate::passthrough) enum Step {
    /// An `NVMe` command: opcode, namespace, CDW10 and CDW11; then data and status.
    Nvme { sent: (u8, u32, u32, u32), data: Vec<u8>, answer: Result<u16, Errno> },
    /// A SCSI command: its bytes; then data and outcome.
    Scsi { sent: Vec<u8>, data: Vec<u8>, answer: Result<ScsiOutcome, Errno> },
    /// Time that must pass.
    Pause(Nanos),
}

/// The script, with what was written to the drive.
#[derive(Debug, Default)]
pub(in crate::passthrough) struct Script {
    steps: VecDeque<Step>,
    pub(in crate::passthrough) written: Vec<Vec<u8>>,
    pub(in crate::passthrough) timeouts: Vec<Nanos>,
    /// CDW12 and CDW14 of `NVMe` commands: where in a log, and which vendor's.
    pub(in crate::passthrough) places: Vec<(u32, u32)>,
}

impl Script {
    pub(in crate::passthrough) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), ..Self::default() }
    }

    pub(in crate::passthrough) fn extend(&mut self, steps: impl IntoIterator<Item = Step>) {
        self.steps.extend(steps);
    }

    #[track_caller]
    pub(in crate::passthrough) fn assert_finished(&self) {
        assert!(self.steps.is_empty(), "not sent: {:02x?}", self.steps);
    }

    fn exchange_data(&mut self, data: Data<'_>, answer: &[u8]) {
        match data {
            Data::None => assert!(answer.is_empty(), "the script has data for a command without"),
            Data::Out(bytes) => self.written.push(bytes.to_vec()),
            Data::In(bytes) => {
                let length = answer.len().min(bytes.len());
                bytes[..length].copy_from_slice(&answer[..length]);
            }
        }
    }
}

impl Transport for Script {
    fn nvme(&mut self, command: &NvmeCommand, data: Data<'_>) -> Result<u16, Errno> {
        let step = self.steps.pop_front();
        let Some(Step::Nvme { sent, data: answered, answer }) = step else {
            panic!("sent {command:x?}, the script has {step:x?}");
        };
        let [cdw10, cdw11, cdw12, _, cdw14, _] = command.cdw10;
        assert_eq!((command.opcode, command.nsid, cdw10, cdw11), sent, "{sent:x?}");
        self.timeouts.push(command.timeout);
        self.places.push((cdw12, cdw14));
        self.exchange_data(data, &answered);
        answer
    }

    fn scsi(
        &mut self,
        command: &[u8],
        data: Data<'_>,
        timeout: Nanos,
    ) -> Result<ScsiOutcome, Errno> {
        let step = self.steps.pop_front();
        let Some(Step::Scsi { sent, data: answered, answer }) = step else {
            panic!("sent {command:02x?}, the script has {step:02x?}");
        };
        assert_eq!(command, sent, "sent {command:02x?}, expected {sent:02x?}");
        self.timeouts.push(timeout);
        self.exchange_data(data, &answered);
        answer
    }

    fn pause(&mut self, span: Nanos) {
        let step = self.steps.pop_front();
        assert!(
            matches!(step, Some(Step::Pause(expected)) if expected == span),
            "paused {span:?}, the script has {step:?}"
        );
    }
}
