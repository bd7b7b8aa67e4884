//! Loop devices and mounts of the tests' own.

use std::process::Command;

use super::*;
use crate::testing::LoopDevice;

/// A loop device over an image in a folder of its own.
struct Loop {
    node: String,
    image: PathBuf,
    partition: Option<&'static str>,
    _device: LoopDevice,
    /// While it is open, no one else can detach it, be it by mistake.
    _open: fs::File,
    _folder: TempDir,
}

impl Loop {
    /// Over an image that begins with `content`.
    fn new(test: &str, content: &[u8], size: u64) -> Self {
        let folder = folder();
        let image = image(&folder.path().join("image"), content, size);
        let device = LoopDevice::new(test, &image, &["--partscan"]).expect("some are free");
        let node = device.0.to_str().expect("it is ASCII").to_owned();
        let open = fs::File::open(&node).unwrap();
        Self { node, image, partition: None, _device: device, _open: open, _folder: folder }
    }

    /// Adds a partition, which the kernel takes from us: not every one reads tables.
    fn with_partition(mut self, start: &str, sectors: &str) -> Self {
        run("addpart", &[&self.node, "1", start, sectors]);
        self.partition = Some("1");
        self
    }

    fn name(&self) -> &str {
        self.node.trim_start_matches("/dev/")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if let Some(partition) = self.partition {
            let _ = Command::new("delpart").args([&self.node, partition]).output();
        }
    }
}

/// A mount that ends when this is dropped.
struct Mounted<'a>(&'a str);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).output();
    }
}

/// What the running kernel's sysfs says of a device.
fn sysfs(name: &str, attribute: &str) -> String {
    let path = Path::new("/sys/class/block").join(name).join(attribute);
    fs::read_to_string(path).unwrap().trim().to_owned()
}

#[test]
fn a_loop_device_is_described_as_the_kernel_has_it() {
    let test = "a_loop_device_is_described_as_the_kernel_has_it";
    if !requires(test, &[&["losetup", "--find"]]) {
        return;
    }
    let device = Loop::new(test, LUKS, 4 * MIB);
    let seen = look(Path::new(&device.node));
    let (major, minor) = seen.device().unwrap().numbers;
    assert_eq!(format!("{major}:{minor}"), sysfs(device.name(), "dev"));
    assert_eq!(seen.device().unwrap().block.name, device.name());
    assert_eq!(seen.identity()["kind"], "loop");
    assert_eq!(seen.size(), Bytes(4 * MIB));
    let block = seen.logical_block().unwrap().0.to_string();
    assert_eq!(block, sysfs(device.name(), "queue/logical_block_size"));
    assert_eq!(seen.destroy_names(), std::slice::from_ref(&device.image));
    assert_eq!(carried(&seen), [[device.name(), "crypto_LUKS", "0x0"]]);
    assert!(seen.holds(&device.image).unwrap());
    let other = image(&device.image.parent().unwrap().join("other"), b"", MIB);
    assert!(!seen.holds(&other).unwrap());

    let attached = look(&device.image);
    let expected =
        Use::Attached { device: device.image.display().to_string(), by: device.name().to_owned() };
    assert!(attached.uses().contains(&expected), "{attached}");
}

#[test]
fn what_a_partition_carries_is_found_on_its_disk_too() {
    let test = "what_a_partition_carries_is_found_on_its_disk_too";
    if !requires(test, &[&["losetup", "--find"], &["addpart", "--version"]]) {
        return;
    }
    let mut content = vec![0; 1 << 20];
    content.extend_from_slice(LUKS);
    let device = Loop::new(test, &content, 4 * MIB).with_partition("2048", "4096");
    let (name, node) = (format!("{}p1", device.name()), format!("{}p1", device.node));
    let expected = [[name.as_str(), "crypto_LUKS", "0x0"]];
    assert_eq!(carried(&look(Path::new(&device.node))), expected);
    let seen = look(Path::new(&node));
    assert_eq!(carried(&seen), expected);
    assert_eq!(seen.size(), Bytes(2 * MIB));
    assert!(seen.holds(&device.image).unwrap(), "it shows a part of it");
}

#[test]
fn an_image_on_a_read_only_mount_is_read_only() {
    let test = "an_image_on_a_read_only_mount_is_read_only";
    if !requires(test, &[APART]) {
        return;
    }
    let folder = folder();
    let place = folder.path().to_str().unwrap();
    run("mount", &["-t", "tmpfs", "-o", "size=4m", "tmpfs", place]);
    let _mounted = Mounted(place);
    let path = image(&folder.path().join("image"), b"", MIB);
    assert_eq!(all_seen(Inspection::without_signatures(&path)).read_only, None);
    run("mount", &["-o", "remount,ro", place]);
    let seen = all_seen(Inspection::without_signatures(&path));
    assert_eq!(seen.read_only, Some(ReadOnly::Mount));
    assert_eq!(seen.image_filesystem().as_deref(), Some("tmpfs"));
}
