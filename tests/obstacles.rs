//! Attempts to destroy something that was not meant: each sets up an obstacle on images and devices
//! of its own, and says what must be refused.
//!
//! [`ATTEMPTS`] is the table. It knows nothing of how the attempt is made, so that the library and
//! the command line can be held against the same rows. What an attempt makes is taken down again
//! when its [`Scene`] is dropped.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::Need::{self, Filesystem, Loop, Program, RamDisk, Root, RootDevice};
use crate::run;
use crate::superblocks::{self, Superblock};

/// The size of every image: beyond the 1440 KiB below which `wipefs` takes it for a floppy disk.
pub const IMAGE_BYTES: u64 = 8 << 20;
/// Where names with serial numbers are.
const BY_ID: &str = "/dev/disk/by-id";
/// Linux's, which the standard library does not name.
const O_EXCL: i32 = 0o200;

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    /// Its name, and that of the function that sets it up.
    pub name: &'static str,
    /// What the machine must have.
    pub needs: &'static [Need],
    /// Names of the refusals that are right (`ClaimError::id`). More than one where a process sees
    /// more of another than of itself.
    pub refusals: &'static [&'static str],
    /// Makes the scene.
    pub set_up: fn(&mut Scene),
}

/// A prepared attempt.
#[derive(Default)]
pub struct Scene {
    /// What `--target` says.
    pub target: PathBuf,
    /// What `--destroy` says.
    pub destroy: Vec<PathBuf>,
    /// What `--overwrite-signature` says.
    pub signatures: Vec<String>,
    /// Files and devices whose content must remain.
    pub witnesses: Vec<PathBuf>,
    /// What happens between looking and claiming.
    pub meanwhile: Option<Step>,
    /// Takes the obstacle away, and changes the arguments where that is what it takes. `None` where
    /// there is nothing that could be destroyed rightly.
    pub lift: Option<Step>,
    folder: Option<TempDir>,
    cleanup: Vec<Box<dyn FnOnce()>>,
}

/// A change of a scene.
pub type Step = Box<dyn FnOnce(&mut Scene)>;

/// All attempts.
pub const ATTEMPTS: &[Attempt] = &[
    row("not_named", &[Root, Loop], &["not-named"], not_named),
    row("nothing_there", &[], &["missing"], nothing_there),
    row("directory", &[], &["wrong-type"], directory),
    row("character_device", &[], &["wrong-type"], character_device),
    row("pipe", &[], &["wrong-type"], pipe),
    row("made_up_file", &[], &["not-stored"], made_up_file),
    row("empty_file", &[], &["empty"], empty_file),
    row("detached_loop", &[Root, Loop], &["empty"], detached_loop),
    row("root_disk", &[RootDevice], &["mounted"], root_disk),
    row("mounted", &[Root, Loop, EXT4], &["mounted"], mounted),
    row("mounted_elsewhere", &[Root, Loop, EXT4], &["mounted"], mounted_elsewhere),
    row("disk_of_mounted_partition", &PARTITIONS, &["mounted"], disk_of_mounted_partition),
    row("partition_of_mounted_disk", &PARTITIONS, &["mounted"], partition_of_mounted_disk),
    row("mounted_btrfs", &[Root, Loop, BTRFS, Filesystem("btrfs")], &["mounted"], mounted_btrfs),
    row("swap", &[Root, Loop, Program("swapon")], &["swap"], swap),
    row("swap_file", &[Root, Program("swapon")], &["swap"], swap_file),
    row("loop_opened_exclusively", &[Root, Loop], &["busy"], loop_opened_exclusively),
    row("loop_open_for_writing", &[Root, Loop], &["open"], loop_open_for_writing),
    row("image_attached", &[Root, Loop], &["attached"], image_attached),
    row("image_attached_twice", &[Root, Loop], &["attached"], image_attached_twice),
    row("loop_below_a_loop", &[Root, Loop], &["attached"], loop_below_a_loop),
    row("loop_over_a_loop", &[Root, Loop], &["loop-over-device"], loop_over_a_loop),
    row("image_open_elsewhere", &[], &["open"], image_open_elsewhere),
    row("image_open_unseen", &[], &["in-use", "open"], image_open_unseen),
    row("image_locked", &[], &["locked", "open"], image_locked),
    row("image_with_two_names", &[], &["hard-linked"], image_with_two_names),
    row("read_only_device", &[Root, Loop], &["read-only"], read_only_device),
    row("read_only_file", &[], &["read-only"], read_only_file),
    row("read_only_mount", &[Root], &["read-only"], read_only_mount),
    row("immutable_file", &[Root, Program("chattr")], &["denied"], immutable_file),
    row("loop_named_by_number", &[Root, Loop], &["weak-name"], loop_named_by_number),
    row("named_by_plain_path", &[Root, RamDisk], &["weak-name"], named_by_plain_path),
    row("named_by_a_link", &[], &["weak-name"], named_by_a_link),
    row("another_id", &[Root, RamDisk], &["wrong-name"], another_id),
    row("another_image", &[], &["wrong-name"], another_image),
    row("unknown_id", &[Root, RamDisk], &["no-such-name"], unknown_id),
    row("link_swapped", &[Root, Loop], &["changed"], link_swapped),
    row("id_swapped", &[Root, RamDisk], &["changed"], id_swapped),
    row("loop_swapped", &[Root, Loop], &["changed"], loop_swapped),
    row("loop_attached_again", &[Root, Loop], &["changed"], loop_attached_again),
    row("backing_file_replaced", &[Root, Loop], &["wrong-name"], backing_file_replaced),
    row("image_replaced", &[], &["changed"], image_replaced),
    row("signature_ext4", &[EXT4], &["signature"], signature_ext4),
    row("signature_xfs", &[], &["signature"], signature_xfs),
    row("signature_btrfs", &[], &["signature"], signature_btrfs),
    row("signature_luks", &[], &["signature"], signature_luks),
    row("signature_lvm", &[Root, Loop], &["signature"], signature_lvm),
    row("signature_md", &[Root, Loop], &["signature"], signature_md),
    row("signature_swap", &[Program("mkswap")], &["signature"], signature_swap),
    row("partition_table_dos", &[Root, Loop], &["signature"], partition_table_dos),
    row("partition_table_gpt", &[Root, Loop], &["signature"], partition_table_gpt),
    row("signature_in_a_partition", &PARTITIONS, &["signature"], signature_in_a_partition),
];

const EXT4: Need = Program("mkfs.ext4");
const BTRFS: Need = Program("mkfs.btrfs");
const PARTITIONS: [Need; 4] = [Root, Loop, EXT4, Program("addpart")];

const fn row(
    name: &'static str,
    needs: &'static [Need],
    refusals: &'static [&'static str],
    set_up: fn(&mut Scene),
) -> Attempt {
    Attempt { name, needs, refusals, set_up }
}

impl Attempt {
    /// Sets the scene.
    pub fn scene(&self) -> Scene {
        let mut scene = Scene::default();
        (self.set_up)(&mut scene);
        scene
    }
}

impl std::fmt::Debug for Scene {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Scene")
            .field("target", &self.target)
            .field("destroy", &self.destroy)
            .field("signatures", &self.signatures)
            .field("witnesses", &self.witnesses)
            .finish_non_exhaustive()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        while let Some(step) = self.cleanup.pop() {
            step();
        }
    }
}

impl Scene {
    /// A checksum over the whole content of each witness (FNV-1a, 64 bits).
    ///
    /// # Panics
    /// If one cannot be read.
    pub fn checksums(&self) -> Vec<u64> {
        let content = |path: &PathBuf| {
            fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        self.witnesses.iter().map(|path| checksum(&content(path))).collect()
    }

    /// Runs what is to happen between looking and claiming.
    pub fn pass_time(&mut self) {
        if let Some(step) = self.meanwhile.take() {
            step(self);
        }
    }

    /// Takes the obstacle away; `false` if there is no way.
    pub fn lift(&mut self) -> bool {
        self.lift.take().is_some_and(|step| {
            step(self);
            true
        })
    }

    /// The scene's own folder, below `/var/tmp`.
    pub fn folder(&mut self) -> PathBuf {
        let new = || tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable");
        let folder = self.folder.get_or_insert_with(new).path();
        fs::canonicalize(folder).expect("it exists")
    }

    /// An image full of text, which is a witness.
    pub fn image(&mut self, name: &str) -> PathBuf {
        let path = self.folder().join(name);
        fill(&path);
        self.witnesses.push(path.clone());
        path
    }

    /// Attaches an image to a free loop device.
    pub fn attach(&mut self, image: &Path) -> PathBuf {
        let device = run("losetup", &["--find", "--show", text(image)]).trim().to_owned();
        let (detached, folder) = (device.clone(), self.folder());
        let image = image.to_owned();
        self.later(move || {
            // Numbers are reused: what is attached by now may be someone else's.
            let name = detached.trim_start_matches("/dev/");
            let backing = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file"));
            let backing = PathBuf::from(backing.unwrap_or_default().trim());
            if backing.starts_with(&folder) || backing == image {
                quietly("losetup", &["--detach", &detached]);
            }
        });
        PathBuf::from(device)
    }

    /// An image on a loop device: the target, rightly named.
    pub fn loop_target(&mut self) -> (PathBuf, PathBuf) {
        let image = self.image("image");
        let device = self.attach(&image);
        self.target.clone_from(&device);
        self.destroy = vec![image.clone()];
        (image, device)
    }

    /// An image: the target, rightly named.
    pub fn image_target(&mut self) -> PathBuf {
        let image = self.image("image");
        self.target.clone_from(&image);
        self.destroy = vec![image.clone()];
        image
    }

    /// A disk in memory, full of text, with a by-id link of this name.
    pub fn ram_disk(&mut self, name: &str) -> (PathBuf, PathBuf) {
        let number = fs::read_to_string("/sys/class/zram-control/hot_add").expect("zram is there");
        let number = number.trim().to_owned();
        let removed = number.clone();
        self.later(move || {
            let _ = fs::write(format!("/sys/block/zram{removed}/reset"), "1");
            let _ = fs::write("/sys/class/zram-control/hot_remove", &removed);
        });
        let size = IMAGE_BYTES.to_string();
        fs::write(format!("/sys/block/zram{number}/disksize"), size).expect("it is new");
        let device = PathBuf::from(format!("/dev/zram{number}"));
        fill(&device);
        self.witnesses.push(device.clone());
        let link = self.by_id(name);
        relink(&device, &link);
        (device, link)
    }

    /// Sets the device's flag until the scene ends: it would outlive what is attached to a loop.
    pub fn set_read_only(&mut self, device: &Path) {
        run("blockdev", &["--setro", text(device)]);
        let device = device.to_owned();
        self.later(move || quietly("blockdev", &["--setrw", text(&device)]));
    }

    /// A place for a link among the names with serial numbers, taken away in the end.
    fn by_id(&mut self, name: &str) -> PathBuf {
        fs::create_dir_all(BY_ID).expect("/dev is writable");
        let process = std::process::id();
        let link = Path::new(BY_ID).join(format!("trimbench-test-{process}-{name}"));
        let removed = link.clone();
        self.later(move || {
            let _ = fs::remove_file(&removed);
            // Only if nothing else is there, as on machines without udev.
            let _ = fs::remove_dir(BY_ID).and_then(|()| fs::remove_dir("/dev/disk"));
        });
        link
    }

    /// Mounts, until the scene ends or [`unmount`](Self::unmount) is called.
    fn mount(&mut self, arguments: &[&str]) -> PathBuf {
        let point = self.folder().join("mount");
        fs::create_dir_all(&point).expect("the folder is ours");
        run("mount", &[arguments, &[text(&point)]].concat());
        let unmounted = point.clone();
        self.later(move || quietly("umount", &["--quiet", text(&unmounted)]));
        point
    }

    fn unmount(&mut self) {
        let point = self.folder().join("mount");
        run("umount", &[text(&point)]);
    }

    /// Starts a shell that runs `script`, says `ready` and waits. Returns what ends it.
    fn shell(&mut self, prefix: &[&str], script: &str, argument: &Path) -> impl FnOnce() + use<> {
        let script = format!("{script}; echo ready; read _ || true");
        let words = [prefix, &["sh", "-ec", &script, "sh", text(argument)]].concat();
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let output = child.stdout.as_mut().expect("it is piped");
        let mut ready = [0; 6];
        std::io::Read::read_exact(output, &mut ready).expect("the script works");
        // Shared, so that a scene that is dropped early ends it as well.
        let child = std::rc::Rc::new(std::cell::RefCell::new(child));
        let end = move || {
            let mut child = child.borrow_mut();
            drop(child.stdin.take());
            let _ = child.wait();
        };
        self.later(end.clone());
        end
    }

    /// Does this when the scene ends; what comes last is done first.
    pub fn later(&mut self, step: impl FnOnce() + 'static) {
        self.cleanup.push(Box::new(step));
    }

    fn lifted(&mut self, step: impl FnOnce(&mut Self) + 'static) {
        self.lift = Some(Box::new(step));
    }

    fn confirm(&mut self, kind: &str) {
        self.signatures.push(kind.to_owned());
    }
}

/// The device that holds the root directory; `None` if there is none, or none in `/dev`.
pub fn root_device() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let line = mounts.lines().find(|line| line.split(' ').nth(1) == Some("/"))?;
    let source = Path::new(line.split(' ').next()?);
    let is_device = fs::metadata(source).ok()?.file_type().is_block_device();
    is_device.then(|| source.to_owned())
}

/// FNV-1a over all bytes.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Numbered lines of text: nothing that a signature could be mistaken for, and no two blocks alike.
fn fill(path: &Path) {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(false).open(path).expect("it is ours");
    let line = |number: u64| format!("precious line {number:17}\n");
    let lines = IMAGE_BYTES / 32;
    let content: String = (0..lines).map(line).collect();
    assert_eq!(content.len() as u64, IMAGE_BYTES, "lines of 32 bytes");
    file.write_all(content.as_bytes()).expect("there is room");
    file.sync_all().expect("it is a file or disk");
}

fn write_at(path: &Path, blocks: &Superblock) {
    let file = OpenOptions::new().write(true).open(path).expect("it is ours");
    for (offset, bytes) in blocks {
        file.write_all_at(bytes, *offset).expect("within the image");
    }
    file.sync_all().expect("it is a file");
}

fn make_ext4(path: &Path) {
    // No discards: what is not the filesystem's own keeps its text.
    run("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", text(path)]);
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary names are ASCII")
}

fn quietly(program: &str, arguments: &[&str]) {
    let _ = Command::new(program).args(arguments).output();
}

fn relink(target: &Path, link: &Path) {
    let _ = fs::remove_file(link);
    std::os::unix::fs::symlink(target, link).expect("the folder is ours");
}

fn not_named(scene: &mut Scene) {
    let (image, _) = scene.loop_target();
    scene.destroy.clear();
    scene.lifted(move |scene| scene.destroy = vec![image]);
}

fn nothing_there(scene: &mut Scene) {
    let path = scene.folder().join("absent");
    scene.target.clone_from(&path);
    scene.destroy = vec![path.clone()];
    scene.lifted(move |scene| {
        fill(&path);
        scene.witnesses.push(path);
    });
}

fn directory(scene: &mut Scene) {
    scene.image("bystander");
    scene.target = scene.folder();
    scene.destroy = vec![scene.target.clone()];
}

fn character_device(scene: &mut Scene) {
    scene.target = PathBuf::from("/dev/null");
    scene.destroy = vec![scene.target.clone()];
}

fn pipe(scene: &mut Scene) {
    let path = scene.folder().join("pipe");
    run("mkfifo", &[text(&path)]);
    scene.target.clone_from(&path);
    scene.destroy = vec![path];
}

fn made_up_file(scene: &mut Scene) {
    scene.target = PathBuf::from("/proc/version");
    scene.destroy = vec![scene.target.clone()];
    scene.witnesses = scene.destroy.clone();
}

fn empty_file(scene: &mut Scene) {
    let image = scene.image_target();
    File::create(&image).expect("it is ours");
    scene.lifted(move |_| fill(&image));
}

fn detached_loop(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    run("losetup", &["--detach", text(&device)]);
}

fn root_disk(scene: &mut Scene) {
    // Never named, and never to be accepted: there is no `lift`.
    scene.target = root_device().expect("it was asked for");
}

fn mounted(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    make_ext4(&device);
    scene.confirm("ext4");
    scene.mount(&["-o", "ro", text(&device)]);
    scene.lifted(Scene::unmount);
}

fn mounted_elsewhere(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    make_ext4(&device);
    scene.confirm("ext4");
    let point = scene.folder().join("mount");
    fs::create_dir(&point).expect("the folder is ours");
    let script = format!("mount -o ro \"$1\" {}", text(&point));
    let end = scene.shell(&["unshare", "--mount"], &script, &device);
    scene.lifted(|_| end());
}

/// Gives a loop device a partition from 1 MiB on, which the kernel takes from us and not from a
/// table: not every kernel reads tables.
fn partition(scene: &mut Scene, device: &Path, number: u32) -> PathBuf {
    run("losetup", &["--detach", text(device)]);
    let image = scene.destroy[0].clone();
    run("losetup", &["--partscan", text(device), text(&image)]);
    let number = number.to_string();
    run("addpart", &[text(device), &number, "2048", "4096"]);
    let part = PathBuf::from(format!("{}p{number}", text(device)));
    let removed = device.to_owned();
    scene.later(move || quietly("delpart", &[text(&removed), &number]));
    part
}

fn disk_of_mounted_partition(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let part = partition(scene, &device, 1);
    make_ext4(&part);
    scene.confirm("ext4");
    scene.mount(&["-o", "ro", text(&part)]);
    scene.lifted(Scene::unmount);
}

fn partition_of_mounted_disk(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let part = partition(scene, &device, 1);
    make_ext4(&device);
    scene.target = part;
    scene.mount(&["-o", "ro", text(&device)]);
    scene.lifted(Scene::unmount);
}

fn mounted_btrfs(scene: &mut Scene) {
    let (image, device) = scene.loop_target();
    // The smallest that mkfs.btrfs makes is larger than the other images.
    run("truncate", &["--size", "128M", text(&image)]);
    run("losetup", &["--set-capacity", text(&device)]);
    run("mkfs.btrfs", &["-q", "-f", "-K", text(&device)]);
    scene.confirm("btrfs");
    scene.mount(&["-o", "ro", text(&device)]);
    scene.lifted(Scene::unmount);
}

fn swap(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    swap_on(scene, device);
}

fn swap_file(scene: &mut Scene) {
    let image = scene.image_target();
    fs::set_permissions(&image, std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("it is ours");
    swap_on(scene, image);
}

fn swap_on(scene: &mut Scene, path: PathBuf) {
    run("mkswap", &[text(&path)]);
    scene.confirm("swap");
    // The lowest priority, so that nothing is swapped here.
    run("swapon", &["--priority", "0", text(&path)]);
    let end = path.clone();
    scene.later(move || quietly("swapoff", &[text(&end)]));
    scene.lifted(move |_| {
        run("swapoff", &[text(&path)]);
    });
}

fn loop_opened_exclusively(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let held = OpenOptions::new().read(true).custom_flags(O_EXCL).open(device);
    let held = held.expect("it is ours");
    scene.lifted(move |_| drop(held));
}

fn loop_open_for_writing(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let end = scene.shell(&[], "exec 3<>\"$1\"", &device);
    scene.lifted(|_| end());
}

fn image_attached(scene: &mut Scene) {
    let image = scene.image_target();
    let device = scene.attach(&image);
    scene.lifted(move |_| {
        run("losetup", &["--detach", text(&device)]);
    });
}

fn image_attached_twice(scene: &mut Scene) {
    let (image, _) = scene.loop_target();
    let second = scene.attach(&image);
    scene.lifted(move |_| {
        run("losetup", &["--detach", text(&second)]);
    });
}

fn loop_below_a_loop(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let above = scene.attach(&device);
    scene.lifted(move |_| {
        run("losetup", &["--detach", text(&above)]);
    });
}

fn loop_over_a_loop(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    scene.target = scene.attach(&device);
    scene.destroy.push(device);
}

fn image_open_elsewhere(scene: &mut Scene) {
    let image = scene.image_target();
    let end = scene.shell(&[], "exec 3<\"$1\"", &image);
    scene.lifted(|_| end());
}

fn image_open_unseen(scene: &mut Scene) {
    // A process does not suspect itself: here the kernel alone can tell.
    let image = scene.image_target();
    let held = File::open(image).expect("it is ours");
    scene.lifted(move |_| drop(held));
}

fn image_locked(scene: &mut Scene) {
    let image = scene.image_target();
    let held = File::open(image).expect("it is ours");
    held.lock().expect("no one else knows it");
    scene.lifted(move |_| drop(held));
}

fn image_with_two_names(scene: &mut Scene) {
    let image = scene.image_target();
    let second = scene.folder().join("backup");
    fs::hard_link(image, &second).expect("the folder is ours");
    scene.lifted(move |_| fs::remove_file(second).expect("it is ours"));
}

fn read_only_device(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    scene.set_read_only(&device);
    scene.lifted(move |_| {
        run("blockdev", &["--setrw", text(&device)]);
    });
}

fn read_only_file(scene: &mut Scene) {
    let image = scene.image_target();
    run("chmod", &["0444", text(&image)]);
    scene.lifted(move |_| {
        run("chmod", &["0600", text(&image)]);
    });
}

fn read_only_mount(scene: &mut Scene) {
    let point = scene.mount(&["-t", "tmpfs", "trimbench-test"]);
    let image = point.join("image");
    fill(&image);
    scene.witnesses.push(image.clone());
    scene.target.clone_from(&image);
    scene.destroy = vec![image];
    run("mount", &["-o", "remount,ro", text(&point)]);
    scene.lifted(move |_| {
        run("mount", &["-o", "remount,rw", text(&point)]);
    });
}

fn immutable_file(scene: &mut Scene) {
    let image = scene.image_target();
    run("chattr", &["+i", text(&image)]);
    let freed = image.clone();
    scene.later(move || quietly("chattr", &["-i", text(&freed)]));
    scene.lifted(move |_| {
        run("chattr", &["-i", text(&image)]);
    });
}

fn loop_named_by_number(scene: &mut Scene) {
    let (image, device) = scene.loop_target();
    scene.destroy = vec![device];
    scene.lifted(move |scene| scene.destroy = vec![image]);
}

fn named_by_plain_path(scene: &mut Scene) {
    let (device, link) = scene.ram_disk("plain");
    scene.target.clone_from(&device);
    scene.destroy = vec![device];
    scene.lifted(move |scene| scene.destroy = vec![link]);
}

fn named_by_a_link(scene: &mut Scene) {
    let image = scene.image_target();
    let link = scene.folder().join("link");
    relink(&image, &link);
    scene.destroy = vec![link];
    scene.lifted(move |scene| scene.destroy = vec![image]);
}

fn another_id(scene: &mut Scene) {
    let (_, link) = scene.ram_disk("meant");
    let (device, right) = scene.ram_disk("taken");
    scene.target = device;
    scene.destroy = vec![link];
    scene.lifted(move |scene| scene.destroy.push(right));
}

fn another_image(scene: &mut Scene) {
    let image = scene.image_target();
    scene.destroy = vec![scene.image("other")];
    scene.lifted(move |scene| scene.destroy.push(image));
}

fn unknown_id(scene: &mut Scene) {
    let (device, link) = scene.ram_disk("known");
    scene.target = device;
    scene.destroy = vec![scene.by_id("unknown")];
    scene.lifted(move |scene| scene.destroy = vec![link]);
}

fn link_swapped(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let other = scene.image("other");
    let other = scene.attach(&other);
    let link = scene.folder().join("link");
    relink(&device, &link);
    scene.target.clone_from(&link);
    let swapped = link.clone();
    scene.meanwhile = Some(Box::new(move |_| relink(&other, &swapped)));
    scene.lifted(move |_| relink(&device, &link));
}

fn id_swapped(scene: &mut Scene) {
    let (device, link) = scene.ram_disk("swapped");
    let (other, _) = scene.ram_disk("other");
    scene.target.clone_from(&link);
    scene.destroy = vec![link.clone()];
    let swapped = link.clone();
    scene.meanwhile = Some(Box::new(move |_| relink(&other, &swapped)));
    scene.lifted(move |_| relink(&device, &link));
}

fn loop_swapped(scene: &mut Scene) {
    let (image, device) = scene.loop_target();
    let other = scene.image("other");
    let again = device.clone();
    scene.meanwhile = Some(Box::new(move |_| {
        run("losetup", &["--detach", text(&device)]);
        run("losetup", &[text(&device), text(&other)]);
    }));
    scene.lifted(move |_| {
        run("losetup", &["--detach", text(&again)]);
        run("losetup", &[text(&again), text(&image)]);
    });
}

fn loop_attached_again(scene: &mut Scene) {
    // The same number and the same file: only the disk sequence tells that it was away.
    let (image, device) = scene.loop_target();
    scene.meanwhile = Some(Box::new(move |_| {
        run("losetup", &["--detach", text(&device)]);
        run("losetup", &[text(&device), text(&image)]);
    }));
    // Who looks again sees what is there now.
    scene.lifted(|_| ());
}

fn backing_file_replaced(scene: &mut Scene) {
    let (image, _) = scene.loop_target();
    let other = scene.image("other");
    let aside = scene.folder().join("aside");
    let back = (aside.clone(), image.clone());
    scene.meanwhile = Some(Box::new(move |scene| {
        fs::rename(&image, &aside).expect("the folder is ours");
        fs::rename(&other, &image).expect("the folder is ours");
        scene.witnesses = vec![aside, image];
    }));
    scene.lifted(move |scene| {
        fs::rename(&back.0, &back.1).expect("the folder is ours");
        scene.witnesses = vec![back.1];
    });
}

fn image_replaced(scene: &mut Scene) {
    let image = scene.image_target();
    let other = scene.image("other");
    let aside = scene.folder().join("aside");
    scene.meanwhile = Some(Box::new(move |scene| {
        fs::rename(&image, &aside).expect("the folder is ours");
        fs::rename(&other, &image).expect("the folder is ours");
        scene.witnesses = vec![aside, image];
    }));
    // Who looks again sees the other, and named it.
    scene.lifted(|_| ());
}

/// An image with this superblock; `types` is what must be confirmed.
fn signed_image(scene: &mut Scene, blocks: &Superblock, types: &'static [&'static str]) {
    let image = scene.image_target();
    write_at(&image, blocks);
    scene.lifted(move |scene| types.iter().for_each(|kind| scene.confirm(kind)));
}

/// The same on a loop device.
fn signed_device(scene: &mut Scene, blocks: &Superblock, types: &'static [&'static str]) {
    let (image, _) = scene.loop_target();
    write_at(&image, blocks);
    // The confirmation of another type is none.
    scene.confirm("ext4");
    scene.lifted(move |scene| types.iter().for_each(|kind| scene.confirm(kind)));
}

fn signature_ext4(scene: &mut Scene) {
    let image = scene.image_target();
    make_ext4(&image);
    scene.lifted(|scene| scene.confirm("ext4"));
}

fn signature_xfs(scene: &mut Scene) {
    signed_image(scene, &superblocks::xfs(), &["xfs"]);
}

fn signature_btrfs(scene: &mut Scene) {
    signed_image(scene, &superblocks::btrfs(IMAGE_BYTES), &["btrfs"]);
}

fn signature_luks(scene: &mut Scene) {
    signed_image(scene, &superblocks::luks(), &["crypto_LUKS"]);
}

fn signature_lvm(scene: &mut Scene) {
    signed_device(scene, &superblocks::lvm(), &["LVM2_member"]);
}

fn signature_md(scene: &mut Scene) {
    signed_device(scene, &superblocks::md(), &["linux_raid_member"]);
}

fn signature_swap(scene: &mut Scene) {
    let image = scene.image_target();
    run("mkswap", &[text(&image)]);
    scene.lifted(|scene| scene.confirm("swap"));
}

fn partition_table_dos(scene: &mut Scene) {
    signed_device(scene, &superblocks::dos(), &["dos"]);
}

fn partition_table_gpt(scene: &mut Scene) {
    signed_device(scene, &superblocks::gpt(IMAGE_BYTES), &["gpt", "PMBR"]);
}

fn signature_in_a_partition(scene: &mut Scene) {
    let (_, device) = scene.loop_target();
    let part = partition(scene, &device, 1);
    make_ext4(&part);
    scene.lifted(|scene| scene.confirm("ext4"));
}
