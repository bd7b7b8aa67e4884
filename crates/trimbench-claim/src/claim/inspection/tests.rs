use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;

use tempfile::TempDir;

use super::*;
use crate::testing::{APART, image, requires, run};

mod machine;
mod real;

const MIB: u64 = 1 << 20;
/// The start of a header of LUKS, which is all that tells of an encrypted volume.
const LUKS: &[u8] = b"LUKS\xba\xbe\0\x01";

fn folder() -> TempDir {
    tempfile::tempdir_in("/var/tmp").expect("/var/tmp is writable")
}

fn look(path: &Path) -> Inspection {
    all_seen(Inspection::of(path).map_err(|error| error.0))
}

/// As where no process keeps its mounts to itself: what else runs is not the test's affair.
fn all_seen(found: Result<Inspection, Refusal>) -> Inspection {
    let mut seen = found.unwrap();
    seen.uses.unreadable = 0;
    seen
}

/// As if the image lay on a filesystem that stands on no device.
fn in_memory(mut seen: Inspection) -> Inspection {
    let Subject::Image(image) = &mut seen.subject else { panic!("it is an image") };
    (image.mount.device, image.mount.source) = ((0, 50), "none".into());
    image.mount.filesystem = "tmpfs".to_owned();
    seen
}

/// What it carries: device, type and place.
fn carried(inspection: &Inspection) -> Vec<[&str; 3]> {
    let found = inspection.signatures.as_ref().unwrap().iter();
    found.map(|one| [&one.device, &one.kind, &one.offset].map(String::as_str)).collect()
}

#[test]
fn what_is_neither_device_nor_file_is_called_by_its_name() {
    let folder = folder();
    let pipe = folder.path().join("pipe");
    run("mkfifo", &[pipe.to_str().unwrap()]);
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    for (path, expected) in [
        (folder.path(), "directory"),
        (Path::new("/dev/null"), "character device"),
        (&pipe, "pipe"),
        (&socket, "socket"),
    ] {
        let error = Inspection::of(path).unwrap_err();
        assert!(
            matches!(&error.0, Refusal::WrongType { what, .. } if *what == expected),
            "{error:?}"
        );
    }
}

#[test]
fn an_image_is_described_as_its_filesystem_has_it() {
    let folder = folder();
    let path = image(&folder.path().join("image"), LUKS, 3 * MIB);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let seen = look(&link);
    assert_eq!((&*seen.given, seen.path()), (link.as_path(), path.as_path()));
    assert!(seen.is_image() && !seen.is_physical_ssd());
    assert_eq!(seen.size(), Bytes(3 * MIB));
    assert!(seen.device().is_none());
    assert_eq!(seen.destroy_names(), std::slice::from_ref(&path));
    assert_eq!(carried(&seen), [["image", "crypto_LUKS", "0x0"]]);

    let filesystem = run("stat", &["--file-system", "--format=%T", path.to_str().unwrap()]);
    let of_image = seen.image_filesystem().unwrap();
    assert!(filesystem.contains(of_image.trim_end_matches(char::is_numeric)), "{of_image}");
    let alignment = direct_io_alignment(&path).map(Bytes);
    assert_eq!(seen.logical_block(), alignment);
    let inode = fs::metadata(&path).unwrap().ino().to_string();
    let born = run("stat", &["--format=%.9W", path.to_str().unwrap()]);
    let path_text = path.display().to_string();
    let mut expected = vec![
        ("path", path_text.as_str()),
        ("size-bytes", "3145728"),
        ("kind", "image"),
        ("inode", &inode),
        ("born", born.trim()),
        ("filesystem", &of_image),
    ];
    let alignment = alignment.map(|block| block.0.to_string());
    expected.extend(alignment.iter().map(|block| ("logical-block-bytes", block.as_str())));
    let expected = expected.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
    assert_eq!(seen.identity(), expected.collect());
    let environment = seen.environment().unwrap();
    assert_eq!(environment["filesystem"], of_image);
    assert!(environment.contains_key("kernel"), "{environment:?}");
}

#[test]
fn what_an_image_wears_is_the_disk_below_its_filesystem_and_not_the_image() {
    let folder = folder();
    let seen = look(&image(&folder.path().join("image"), LUKS, 3 * MIB));
    let disks: Vec<u64> = seen.below().iter().filter_map(|it| it.number("size")).collect();
    let expected = (!disks.is_empty()).then(|| Bytes(disks.iter().max().unwrap() * SECTOR));
    assert!(seen.below().len() > 1 || seen.drives_size() == expected, "{:?}", seen.drives_size());
    assert_eq!(in_memory(seen).drives_size(), None);
}

#[test]
fn the_tree_of_an_image_has_a_line_for_each_thing_that_matters() {
    let folder = folder();
    let path = image(&folder.path().join("image"), LUKS, 3 * MIB);
    let mut seen = in_memory(look(&path));
    let block = seen.logical_block().map(|block| format!(", blocks of {block}"));
    let block = block.unwrap_or_default();
    let first = format!("{}\n|- image file on tmpfs, 3MiB{block}", path.display());
    let expected = format!("{first}\n`- carries: `crypto_LUKS` at 0x0 of `image`");
    assert_eq!(seen.to_string(), expected);

    let open = |process, writes, is_file| Use::Open {
        path: path.clone(),
        process,
        command: "cat".to_owned(),
        writes,
        is_file,
    };
    seen.uses.list = vec![open(12, true, true), open(13, false, false)];
    seen.uses.unreadable = 4;
    seen.read_only = Some(ReadOnly::Mode);
    seen.signatures = Err(ProbeError::NoProgram);
    let name = path.display();
    let expected = format!(
        "{first}, read-only\n\
         |- in use: `{name}` is open for writing by process 12 (`cat`)\n\
         |- seen: `{name}` is open for reading by process 13 (`cat`)\n\
         |- not seen: the mounts of some processes (4)\n\
         `- carries: unknown, there is no `/usr/sbin/wipefs`"
    );
    assert_eq!(seen.to_string(), expected);
}

#[test]
fn the_corner_is_at_the_last_line_also_if_it_is_the_first() {
    let folder = folder();
    let path = image(&folder.path().join("image"), b"", 0);
    let seen = in_memory(look(&path));
    assert_eq!(carried(&seen), [] as [[&str; 3]; 0]);
    let block = seen.logical_block().map(|block| format!(", blocks of {block}"));
    let block = block.unwrap_or_default();
    assert_eq!(seen.to_string(), format!("{}\n`- image file on tmpfs, 0B{block}", path.display()));
}

#[test]
fn an_image_that_nobody_may_write_is_read_only() {
    let folder = folder();
    let path = image(&folder.path().join("image"), b"", MIB);
    for (mode, expected) in [
        (0o644, None),
        (0o600, None),
        (0o422, None),
        (0o444, Some(ReadOnly::Mode)),
        (0o511, Some(ReadOnly::Mode)),
    ] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let seen = all_seen(Inspection::without_signatures(&path));
        assert_eq!(seen.read_only, expected, "{mode:o}");
    }
}

#[test]
fn an_image_holds_itself_under_every_name_and_no_other_file() {
    let folder = folder();
    let path = image(&folder.path().join("image"), b"", MIB);
    let other = image(&folder.path().join("other"), b"", MIB);
    let second = folder.path().join("second");
    fs::hard_link(&path, &second).unwrap();
    let seen = all_seen(Inspection::without_signatures(&path));
    assert!(seen.holds(&path).unwrap() && seen.holds(&second).unwrap());
    assert!(!seen.holds(&other).unwrap());
    assert!(seen.holds(&folder.path().join("nothing")).is_err());
}
