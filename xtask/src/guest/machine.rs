//! The machines: what a guest boots from, and the command line of its kernel in the sandbox.
//!
//! Places in the sandbox: `/tmp/share` is what the guest sees (`host`, `tree`, `exchange`),
//! `/tmp/machine` has the images and receives what the guest prints. Everything else is the host's
//! tree, read-only.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::initramfs::{Archive, add_modules};
use super::{GuestDisk, GuestKind};
use crate::Repository;
use crate::process::quietly;
use crate::setup::{guest_file, guest_tree, is_there};

/// What to do where something is missing.
const ADVICE: &str = "run `cargo xtask setup --for guest`";
const WHY_ROOT: &str = "the guest's overlay opens files so that their time of access stays, which \
                        only their owner may; use `uml`";
const SANDBOX: &str = "bwrap";
const EMULATOR: &str = "qemu-system-x86_64";
/// What serves the host's tree to a guest; distributions have it in either place.
const FILE_SERVERS: [&str; 2] = ["/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd"];
/// What the server of files needs as root, in the sandbox: what it keeps for itself, and to change
/// its root folder and give up everything else. No other program there needs any of these.
const CAPABILITIES: [&str; 10] = [
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_MKNOD",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_CHROOT",
];
/// So that a guest of root sees what root sees.
const READ_ALL: &str = "CAP_DAC_READ_SEARCH";
/// Disks have letters.
const MOST_DISKS: usize = 26;

const INIT: &[u8] = include_bytes!("init.sh");
const START: &[u8] = include_bytes!("start.sh");
/// Opens the files that receive what the guest prints on its serial lines, then becomes its kernel.
const START_UML: &str = "exec 3>stdout 4>stderr 5>control; exec \"$@\"";
/// Starts the server of files, waits until it listens, then becomes the emulator.
const START_CLOUD: &str = "server=$1; shift
\"$server\" --socket-path=/tmp/files -o source=/tmp/share,sandbox=chroot,cache=always \
    --rlimit-nofile=0 >server 2>&1 &
while [ ! -S /tmp/files ]; do
    kill -0 $! || { cat server; exit 1; }
    sleep 0.02
done
exec \"$@\"";

/// The files that a kind of guest is made of.
#[derive(Debug)]
pub(super) struct Parts {
    kind: GuestKind,
    tree: PathBuf,
    busybox: PathBuf,
    /// The kernel, and the folder of its modules.
    kernel: PathBuf,
    modules: PathBuf,
    /// What serves files (`cloud`).
    server: Option<PathBuf>,
}

/// The folders of the host that a guest may write to.
#[derive(Debug)]
pub(super) struct Sandbox<'a> {
    /// Images and output.
    pub(super) files: &'a Path,
    /// `/exchange`.
    pub(super) exchange: &'a Path,
}

/// All disks of a guest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disks<'a> {
    /// Those of images.
    pub(super) images: &'a [GuestDisk],
    /// Sockets of NBD servers: NVMe drives.
    pub(super) servers: &'a [PathBuf],
}

impl GuestKind {
    /// The program that is the guest's machine.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Uml => "linux.uml",
            Self::Cloud => EMULATOR,
        }
    }
}

/// Where the sandbox has the socket of an NBD server.
fn socket_place(index: usize) -> String {
    format!("/tmp/server{index}")
}

/// The name of a disk's image.
pub(super) fn image_name(index: usize) -> String {
    format!("disk{index}")
}

impl Parts {
    /// Finds everything, or says what is missing.
    pub(super) fn find(kind: GuestKind, repository: &Repository) -> Result<Self> {
        let (tree, find) = (guest_tree(repository), |path: &str| {
            guest_file(repository, path).with_context(|| format!("no {path}: {ADVICE}"))
        });
        if !is_there(SANDBOX) {
            bail!("no {SANDBOX} (package bubblewrap): {ADVICE}");
        }
        if !quietly(Command::new(SANDBOX).args(["--ro-bind", "/", "/", "--unshare-pid", "true"])) {
            bail!("{SANDBOX} cannot make a sandbox here: it needs root or user namespaces");
        }
        let busybox = find("usr/bin/busybox").or_else(|_| find("bin/busybox"))?;
        let mut server = None;
        let (kernel, modules) = match kind {
            GuestKind::Uml => {
                (find("usr/bin/linux.uml")?, newest(&find("usr/lib/uml/modules")?, "")?)
            }
            GuestKind::Cloud => {
                if !rustix::process::geteuid().is_root() {
                    bail!("a guest of kind `cloud` needs root: {WHY_ROOT}");
                }
                if !is_there(EMULATOR) {
                    bail!("no {EMULATOR} (package qemu-system-x86): {ADVICE}");
                }
                server = FILE_SERVERS.iter().map(PathBuf::from).find(|path| path.exists());
                if server.is_none() {
                    bail!("no virtiofsd (package qemu-system-common or virtiofsd): {ADVICE}");
                }
                let kernel = find("boot").and_then(|boot| newest(&boot, "vmlinuz-"))?;
                let name = kernel.file_name().and_then(OsStr::to_str).unwrap_or_default();
                let release = name.trim_start_matches("vmlinuz-");
                let modules = find(&format!("usr/lib/modules/{release}"))?;
                (kernel, modules)
            }
        };
        Ok(Self { kind, tree, busybox, kernel, modules, server })
    }

    /// What the guest boots from.
    pub(super) fn initramfs(&self, disks: Disks<'_>, script: &str) -> Result<Vec<u8>> {
        let mut archive = Archive::default();
        archive.folder("bin");
        let busybox = fs::read(&self.busybox);
        let busybox = busybox.with_context(|| format!("read {}", self.busybox.display()))?;
        archive.file("bin/busybox", &busybox);
        archive.file("init", INIT);
        archive.folder("guest");
        archive.file("guest/start", START);
        archive.file("guest/script", script.as_bytes());
        let (kind, names) = match self.kind {
            GuestKind::Uml => ("uml", &["overlay"][..]),
            GuestKind::Cloud => {
                ("cloud", &["virtio_pci", "virtio_console", "virtiofs", "overlay"][..])
            }
        };
        let disks = self.disk_paths(disks)?.join(" ");
        archive.file("guest/settings", format!("KIND={kind}\nDISKS='{disks}'\n").as_bytes());
        add_modules(&mut archive, &self.modules, names)?;
        Ok(archive.finish())
    }

    /// Where the guest has its disks.
    fn disk_paths(&self, Disks { images, servers }: Disks<'_>) -> Result<Vec<String>> {
        if images.len() + servers.len() > MOST_DISKS {
            bail!("a guest has at most {MOST_DISKS} disks");
        }
        let (mut letters, mut numbers) = ('a'..='z', 0..);
        let mut path = |disk: &GuestDisk| {
            if disk.nvme {
                return format!("/dev/nvme{}n1", numbers.next().expect("numbers do not end"));
            }
            let letter = letters.next().expect("there are at most as many disks as letters");
            match self.kind {
                GuestKind::Uml => format!("/dev/ubd{letter}"),
                GuestKind::Cloud => format!("/dev/vd{letter}"),
            }
        };
        let has_nvme = !servers.is_empty() || images.iter().any(|disk| disk.nvme);
        if self.kind == GuestKind::Uml && has_nvme {
            bail!("user-mode Linux has no NVMe: use a guest of kind `cloud`");
        }
        let served = GuestDisk { nvme: true, ..GuestDisk::of_mib(0) };
        let served = servers.iter().map(|_| &served);
        Ok(images.iter().chain(served).map(&mut path).collect())
    }

    /// The guest's machine, in its sandbox.
    pub(super) fn command(
        &self,
        sandbox: &Sandbox<'_>,
        memory_mib: u32,
        disks: Disks<'_>,
    ) -> Command {
        let mut words = match self.kind {
            GuestKind::Uml => uml(memory_mib, disks.images),
            GuestKind::Cloud => cloud(memory_mib, disks),
        };
        let start = if self.kind == GuestKind::Uml { START_UML } else { START_CLOUD };
        let mut head = ["sh", "-c", start, "guest"].map(str::to_owned).to_vec();
        if let Some(server) = &self.server {
            head.push(server.to_string_lossy().into_owned());
        }
        head.append(&mut words);
        self.sandboxed(sandbox, disks.servers, &head)
    }

    fn sandboxed(&self, sandbox: &Sandbox<'_>, servers: &[PathBuf], words: &[String]) -> Command {
        let mut command = Command::new(SANDBOX);
        command.args(["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]);
        command.args(["--die-with-parent", "--new-session", "--clearenv"]);
        command.args([
            "--setenv",
            "PATH",
            "/usr/local/bin:/usr/bin:/bin",
            "--setenv",
            "HOME",
            "/tmp",
        ]);
        if rustix::process::geteuid().is_root() {
            command.args(["--cap-drop", "ALL", "--cap-add", READ_ALL]);
            for capability in self.server.iter().flat_map(|_| CAPABILITIES) {
                command.args(["--cap-add", capability]);
            }
        } else {
            command.args(["--unshare-user", "--uid", "0", "--gid", "0"]);
        }
        command.args(["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]);
        command.args(["--tmpfs", "/run", "--tmpfs", "/tmp", "--dir", "/tmp/share"]);
        command.args(["--ro-bind", "/", "/tmp/share/host"]);
        command.arg("--ro-bind").arg(&self.tree).arg("/tmp/share/tree");
        command.arg("--bind").arg(sandbox.exchange).arg("/tmp/share/exchange");
        command.arg("--bind").arg(sandbox.files).arg("/tmp/machine");
        // What lies in a temporary folder of the host is hidden by the sandbox's own.
        command.arg("--ro-bind").arg(&self.kernel).arg("/tmp/kernel");
        for (index, socket) in servers.iter().enumerate() {
            command.arg("--bind").arg(socket).arg(socket_place(index));
        }
        command.args(["--chdir", "/tmp/machine", "--"]).args(words);
        command
    }
}

/// User-mode Linux: a kernel that is a program.
fn uml(memory_mib: u32, disks: &[GuestDisk]) -> Vec<String> {
    let mut words = vec!["/tmp/kernel".to_owned(), format!("mem={memory_mib}M")];
    words.push("initrd=/tmp/machine/initramfs".to_owned());
    let fixed = "uml_dir=/tmp/ con=null con0=null,fd:1 ssl=null ssl0=null,fd:3 ssl1=null,fd:4 \
                 ssl2=null,fd:5 panic=-1 quiet";
    words.extend(fixed.split(' ').map(str::to_owned));
    for (index, disk) in disks.iter().enumerate() {
        let flags = if disk.discard { "" } else { "t" };
        words.push(format!("ubd{index}{flags}=/tmp/machine/{}", image_name(index)));
    }
    words
}

/// A PC, emulated.
fn cloud(memory_mib: u32, disks: Disks<'_>) -> Vec<String> {
    let mut line = format!(
        "{EMULATOR} -accel tcg -cpu max -smp 1 -m {memory_mib}M -machine q35,memory-backend=memory \
         -object memory-backend-memfd,id=memory,size={memory_mib}M,share=on -nodefaults \
         -no-user-config -display none -no-reboot -serial stdio -device virtio-serial -kernel \
         /tmp/kernel -initrd /tmp/machine/initramfs -chardev socket,id=files,path=/tmp/files \
         -device vhost-user-fs-pci,chardev=files,tag=share"
    );
    for (name, file) in [("out", "stdout"), ("err", "stderr"), ("control", "control")] {
        write!(
            line,
            " -chardev file,id={name},path=/tmp/machine/{file} -device \
             virtserialport,chardev={name},name={name}"
        )
        .expect("a string takes text");
    }
    for (index, disk) in disks.images.iter().enumerate() {
        let discard = if disk.discard { "unmap" } else { "ignore" };
        let device = if disk.nvme { "nvme" } else { "virtio-blk-pci" };
        let image = image_name(index);
        write!(
            line,
            " -drive if=none,id={image},file=/tmp/machine/{image},format=raw,discard={discard},\
             cache=unsafe -device {device},drive={image},serial={image}"
        )
        .expect("a string takes text");
    }
    for index in 0..disks.servers.len() {
        let socket = socket_place(index);
        write!(
            line,
            " -drive if=none,id=served{index},file=nbd+unix:///?socket={socket},format=raw,\
             discard=unmap,cache=none -device nvme,drive=served{index},serial=served{index}"
        )
        .expect("a string takes text");
    }
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    // Where the host is busy, an emulated timer can tick too late for the kernel's check of it.
    words.extend(["-append".to_owned(), "console=ttyS0 panic=-1 no_timer_check quiet".to_owned()]);
    words
}

/// The file of a folder whose name begins so and comes last: of kernels, mostly the newest.
fn newest(folder: &Path, prefix: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let named = |path: &PathBuf| {
        path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(prefix))
    };
    let newest = paths.filter(named).max();
    newest.with_context(|| format!("nothing like {prefix}* in {}: {ADVICE}", folder.display()))
}
