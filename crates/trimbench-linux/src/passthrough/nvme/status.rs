//! The status of an `NVMe` completion (\[NVME\] Base 2.0, 3.3.3.2.1, figures 93 to 97).

use std::fmt;

/// The status field of a completion without its phase bit; 0 is success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::passthrough) struct NvmeStatus(pub(super) u16);

impl NvmeStatus {
    pub(super) const SANITIZE_IN_PROGRESS: (u8, u8) = (0, 0x1d);

    /// Whether the command did what it should.
    pub(super) fn is_success(self) -> bool {
        self.pair() == (0, 0)
    }

    /// Whether the controller does not have the command, its field or the log that it asks for.
    pub(in crate::passthrough) fn is_unknown_command(self) -> bool {
        // Invalid opcode, invalid field, invalid namespace or format, invalid log page.
        [(0, 0x01), (0, 0x02), (0, 0x0b), (1, 0x09)].contains(&self.pair())
    }

    /// Status code type (0 generic, 1 of the command, 2 media, 3 path, 7 vendor), and the code.
    pub(super) fn pair(self) -> (u8, u8) {
        let [code, upper] = self.0.to_le_bytes();
        (upper & 0b111, code)
    }
}

impl fmt::Display for NvmeStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, code) = self.pair();
        let table = [GENERIC, COMMAND, MEDIA, PATH].get(usize::from(kind)).copied();
        let named = table.unwrap_or_default().iter().find(|(number, _)| *number == code);
        let name = named.map_or("a status without a name in trimbench", |(_, name)| name);
        let do_not_retry = if self.0 & 1 << 14 != 0 { ", do not retry" } else { "" };
        write!(formatter, "{name} (SCT {kind:x}h, SC {code:02x}h{do_not_retry})")
    }
}

const GENERIC: &[(u8, &str)] = &[
    (0x00, "Successful Completion"),
    (0x01, "Invalid Command Opcode"),
    (0x02, "Invalid Field in Command"),
    (0x03, "Command ID Conflict"),
    (0x04, "Data Transfer Error"),
    (0x05, "Commands Aborted due to Power Loss Notification"),
    (0x06, "Internal Error"),
    (0x07, "Command Abort Requested"),
    (0x08, "Command Aborted due to SQ Deletion"),
    (0x0b, "Invalid Namespace or Format"),
    (0x0c, "Command Sequence Error"),
    (0x13, "PRP Offset Invalid"),
    (0x14, "Atomic Write Unit Exceeded"),
    (0x15, "Operation Denied"),
    (0x1b, "Command Aborted due to Preempt and Abort"),
    (0x1c, "Sanitize Failed"),
    (0x1d, "Sanitize In Progress"),
    (0x20, "Namespace is Write Protected"),
    (0x21, "Command Interrupted"),
    (0x22, "Transient Transport Error"),
    (0x23, "Command Prohibited by Command and Feature Lockdown"),
    (0x24, "Admin Command Media Not Ready"),
    (0x80, "LBA Out of Range"),
    (0x81, "Capacity Exceeded"),
    (0x82, "Namespace Not Ready"),
    (0x83, "Reservation Conflict"),
    (0x84, "Format In Progress"),
];

const COMMAND: &[(u8, &str)] = &[
    (0x09, "Invalid Log Page"),
    (0x0a, "Invalid Format"),
    (0x0b, "Firmware Activation Requires Conventional Reset"),
    (0x10, "Firmware Activation Requires NVM Subsystem Reset"),
    (0x11, "Firmware Activation Requires Controller Level Reset"),
    (0x23, "Sanitize Prohibited While Persistent Memory Region is Enabled"),
    (0x80, "Conflicting Attributes"),
    (0x81, "Invalid Protection Information"),
    (0x82, "Attempted Write to Read Only Range"),
    (0x83, "Command Size Limit Exceeded"),
];

const MEDIA: &[(u8, &str)] = &[
    (0x80, "Write Fault"),
    (0x81, "Unrecovered Read Error"),
    (0x82, "End-to-end Guard Check Error"),
    (0x83, "End-to-end Application Tag Check Error"),
    (0x84, "End-to-end Reference Tag Check Error"),
    (0x85, "Compare Failure"),
    (0x86, "Access Denied"),
    (0x87, "Deallocated or Unwritten Logical Block"),
];

const PATH: &[(u8, &str)] = &[
    (0x00, "Internal Path Error"),
    (0x01, "Asymmetric Access Persistent Loss"),
    (0x02, "Asymmetric Access Inaccessible"),
    (0x03, "Asymmetric Access Transition"),
    (0x60, "Controller Pathing Error"),
    (0x70, "Host Pathing Error"),
    (0x71, "Command Aborted By Host"),
];
