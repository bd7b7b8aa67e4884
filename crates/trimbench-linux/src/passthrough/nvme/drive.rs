//! An `NVMe` namespace and its controller: identity and counters.

use std::fmt::Debug;

use trimbench_core::{Nanos, TrimPromise, Wear};
use trimbench_log_pages::nvme::smart::{SMART, host_written};
use trimbench_log_pages::ocp::smart::{OCP_SMART, media_written};

use super::command::{Identify, sanitize_action};
use super::identify::{self, Controller, Namespace};
use super::logs;
use super::purge::{CRYPTO_ERASE, USER_DATA_ERASE};
use super::status::NvmeStatus;
use crate::ioctl::{Data, NvmeCommand};
use crate::passthrough::drive_logs::{DriveLog, LogOptions};
use crate::passthrough::error::{PassthroughError, PurgeError};
use crate::passthrough::purge::{PurgeOption, ReportedPurge};
use crate::passthrough::transport::Transport;
use crate::passthrough::{DriveIdentity, Protocol, refused_by_kernel};

#[derive(Debug)]
pub(in crate::passthrough) struct NvmeDrive<T> {
    pub(super) transport: T,
    pub(super) nsid: u32,
    pub(super) controller: Controller,
    pub(super) namespace: Namespace,
    identity: DriveIdentity,
    promise: TrimPromise,
}

pub(super) struct Look {
    pub(super) controller: Controller,
    pub(super) namespace: Namespace,
    pub(super) identity: DriveIdentity,
}

impl<T: Transport> NvmeDrive<T> {
    pub(in crate::passthrough) fn open(
        mut transport: T,
        nsid: u32,
    ) -> Result<Self, PassthroughError> {
        let Look { controller, namespace, identity } = look(&mut transport, nsid)?;
        let promise = namespace.promise(&controller);
        Ok(Self { transport, nsid, controller, namespace, identity, promise })
    }

    /// The first 512 bytes of a log.
    pub(super) fn log(
        &mut self,
        name: &'static str,
        log: u8,
        uuid_index: u8,
    ) -> Result<[u8; logs::BYTES], PassthroughError> {
        let mut bytes = [0; logs::BYTES];
        let command = NvmeCommand::get_log(log, 512, uuid_index);
        send(&mut self.transport, name, &command, Data::In(&mut bytes))?;
        Ok(bytes)
    }

    /// Under which index OCP's logs are; 0, which takes the vendor's choice, without a list.
    pub(super) fn ocp_uuid_index(&mut self) -> Result<u8, PassthroughError> {
        if !self.controller.has_uuid_list {
            return Ok(0);
        }
        match identify(&mut self.transport, "Identify (UUID list)", Identify::UuidList) {
            Ok(image) => Ok(identify::ocp_uuid_index(&image).unwrap_or(0)),
            Err(error) if error.is_refusal() => Ok(0),
            Err(error) => Err(error),
        }
    }
}

impl<T: Transport + Debug> Protocol for NvmeDrive<T> {
    fn identity(&self) -> &DriveIdentity {
        &self.identity
    }

    fn promise(&self) -> TrimPromise {
        self.promise
    }

    fn wear(&mut self) -> Option<Wear> {
        let smart = self.log("Get Log Page (SMART)", SMART.lid, 0).ok()?;
        let uuid_index = self.ocp_uuid_index().ok()?;
        let ocp = self.log("Get Log Page (OCP C0h)", OCP_SMART.lid, uuid_index).ok()?;
        Some(Wear { host_written: host_written(&smart)?, media_written: media_written(&ocp)? })
    }

    fn read_logs(&mut self, options: LogOptions, pci_device: u16) -> Vec<DriveLog> {
        self.logs(options, pci_device)
    }

    fn identify_again(&mut self) -> Result<DriveIdentity, PassthroughError> {
        let Look { controller, namespace, identity } = look(&mut self.transport, self.nsid)?;
        (self.controller, self.namespace) = (controller, namespace);
        Ok(identity)
    }

    fn purge_means(&mut self) -> Result<Vec<PurgeOption>, PassthroughError> {
        self.means()
    }

    fn erase(&mut self, means: ReportedPurge, estimate: Option<Nanos>) -> Result<(), PurgeError> {
        match means {
            ReportedPurge::NvmeFormatUserDataErase => self.format(USER_DATA_ERASE, estimate),
            ReportedPurge::NvmeFormatCryptoErase => self.format(CRYPTO_ERASE, estimate),
            _ => {
                let action = sanitize_action(means).ok_or(PurgeError::NotOffered { means })?;
                self.sanitize(action, estimate)
            }
        }
    }
}

pub(super) fn send(
    transport: &mut impl Transport,
    name: &'static str,
    command: &NvmeCommand,
    data: Data<'_>,
) -> Result<(), PassthroughError> {
    let status = transport
        .nvme(command, data)
        .map_err(|errno| refused_by_kernel(name, errno, "CAP_SYS_ADMIN"))?;
    let status = NvmeStatus(status);
    let failed = PassthroughError::Nvme { command: name, status };
    if status.is_success() { Ok(()) } else { Err(failed) }
}

pub(super) fn identify(
    transport: &mut impl Transport,
    name: &'static str,
    what: Identify,
) -> Result<[u8; identify::BYTES], PassthroughError> {
    let mut image = [0; identify::BYTES];
    send(transport, name, &NvmeCommand::identify(what), Data::In(&mut image))?;
    Ok(image)
}

/// Controller and namespace as they are at this moment.
pub(super) fn look(transport: &mut impl Transport, nsid: u32) -> Result<Look, PassthroughError> {
    let image = identify(transport, "Identify (controller)", Identify::Controller)?;
    let controller = Controller::decode(&image);
    let name = "Identify (namespace)";
    let namespace = Namespace::decode(&identify(transport, name, Identify::Namespace(nsid))?);
    let malformed = |why| Err(PassthroughError::Malformed { command: name, why });
    if namespace.size.0 == 0 {
        // An inactive namespace answers with zeroes.
        return malformed("the namespace has size 0");
    }
    if namespace.logical_block.is_none() {
        return malformed("its block size is no power of two from 512 B to 64 KiB");
    }
    let identity = DriveIdentity {
        model: controller.model.clone(),
        serial: controller.serial.clone(),
        namespace: Some(nsid),
        nguid: namespace.nguid,
        wwn: None,
    };
    Ok(Look { controller, namespace, identity })
}

pub(in crate::passthrough) fn active_namespaces(
    transport: &mut impl Transport,
) -> Result<Vec<u32>, PassthroughError> {
    let name = "Identify (active namespaces)";
    Ok(identify::namespaces(&identify(transport, name, Identify::ActiveNamespaces)?))
}
