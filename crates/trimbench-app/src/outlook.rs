//! What is known of a target before it is open: nothing is opened for writing.

use trimbench_claim::Inspection;
use trimbench_core::{Bytes, Capabilities, Clock};
use trimbench_devices::{
    Consent, DeviceOutlook, EmulatedSpec, ScratchSpec, TargetError, TargetSpec, inspect_device,
};
use trimbench_linux::DirectoryTarget;

use crate::ideal::{ideal_device, ideal_directory};

/// What is known of a target that is not open.
#[derive(Debug)]
pub struct TargetOutlook<'a> {
    /// What it offers at best: what does not fit this does not fit the target.
    pub ideal: Capabilities,
    /// What it holds; `None` where it must be asked for.
    pub capacity: Option<Bytes>,
    /// What a directory has room for by now.
    pub room: Option<Bytes>,
    /// The emulated drives of which it is made, and how many.
    pub drives: Option<(&'a EmulatedSpec, usize)>,
    /// The block device or image file, as it was inspected.
    pub device: Option<DeviceOutlook>,
    /// What the drives hold together that its writes wear, where they are real and known.
    pub worn: Option<Bytes>,
    /// Why it would be refused, and what to do; `None` if it will probably be accepted.
    pub refusal: Option<(String, String)>,
    /// What is lost, in words.
    pub destroys: &'static str,
    /// What one must be permitted, in words.
    pub privileges: &'static str,
}

impl<'a> TargetOutlook<'a> {
    /// An error says why it cannot be had.
    pub(crate) fn of(target: &'a TargetSpec, consent: &Consent) -> Result<Self, String> {
        let inspect =
            |path| inspect_device(path, consent).map_err(|error: TargetError| error.to_string());
        Ok(match target {
            TargetSpec::Emulated(spec) => Self {
                ideal: ideal_device(spec.capacity(), Clock::Virtual),
                destroys: "nothing: the drive is emulated",
                ..Self::modelled(spec, 1, spec.capacity())
            },
            TargetSpec::Modelled(spec) => Self::modelled(spec.drive(), 1, spec.drive().capacity()),
            TargetSpec::Pool(spec) => Self::modelled(spec.drive(), spec.drives(), spec.room()),
            TargetSpec::Directory(path) => Self {
                ideal: ideal_directory(Bytes(u64::MAX), Clock::Wall),
                capacity: None,
                room: DirectoryTarget::room_in(path),
                drives: None,
                device: None,
                worn: None,
                refusal: None,
                destroys: "nothing: works in a directory of its own",
                privileges: "to write in the directory; root for `mode=trim`",
            },
            TargetSpec::Scratch(spec) => Self::in_scratch(spec),
            TargetSpec::Device(path) => Self::on(
                inspect(path)?,
                ideal_device,
                "permission to open it for writing: for a device root, or its group",
            ),
            TargetSpec::Real(spec) => Self::on(
                inspect(spec.path())?,
                ideal_directory,
                "root: to attach a loop device and to mount",
            ),
        })
    }

    /// What demands are asked for: its capacity, or the room for files.
    pub(crate) fn measure(&self) -> Bytes {
        self.capacity.or(self.room).unwrap_or(Bytes(0))
    }

    /// A filesystem over emulated drives, whose files may take so many bytes at most.
    fn modelled(drive: &'a EmulatedSpec, count: usize, capacity: Bytes) -> Self {
        Self {
            ideal: ideal_directory(capacity, Clock::Virtual),
            capacity: Some(capacity),
            room: None,
            drives: Some((drive, count)),
            device: None,
            worn: None,
            refusal: None,
            destroys: "nothing: filesystem and drive are models",
            privileges: "none",
        }
    }

    /// A block device or an image file, or filesystems on one.
    fn on(
        device: DeviceOutlook,
        ideal: fn(Bytes, Clock) -> Capabilities,
        privileges: &'static str,
    ) -> Self {
        Self {
            ideal: ideal(device.capacity, Clock::Wall),
            capacity: Some(device.capacity),
            room: None,
            drives: None,
            worn: device.drives,
            refusal: device.refusal.clone(),
            device: Some(device),
            destroys: "everything on it",
            privileges,
        }
    }

    /// An image file that is made for the run.
    fn in_scratch(spec: &ScratchSpec) -> Self {
        let (directory, size) = (spec.directory(), spec.size());
        let room = DirectoryTarget::room_in(directory).filter(|room| *room < size);
        let refusal = room.map(|room| {
            let directory = directory.display();
            let why =
                format!("`{directory}` has room for {room}, and the image takes up to {size}");
            (why, "name a directory on a filesystem with more room".to_owned())
        });
        Self {
            ideal: ideal_device(size, Clock::Wall),
            capacity: Some(size),
            room: None,
            drives: None,
            device: None,
            worn: Inspection::drives_size_below(directory),
            refusal,
            destroys: "nothing: the image file is made for the run, and has no name",
            privileges: "to write in the directory",
        }
    }
}
