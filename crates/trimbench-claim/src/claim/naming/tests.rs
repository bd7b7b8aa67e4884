use super::*;

fn image(folder: &Path, name: &str) -> (PathBuf, Meaning) {
    let path = fs::canonicalize(folder).unwrap().join(name);
    fs::write(&path, name).unwrap();
    let file = file_of(&path).unwrap();
    let meaning = Meaning::File { file, path: path.clone(), device: None };
    (path, meaning)
}

#[test]
fn an_image_is_named_by_its_canonical_path_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, meaning) = image(folder.path(), "disk.img");
    let other = image(folder.path(), "other.img").0;
    let link = path.with_file_name("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let detour =
        path.parent().unwrap().join("../").join(path.parent().unwrap().file_name().unwrap());
    let id = |given: &[PathBuf]| {
        confirm(&path, &meaning, given).map_or_else(|error| error.id().to_owned(), |()| "ok".into())
    };
    assert_eq!(id(std::slice::from_ref(&path)), "ok");
    assert_eq!(id(&[other.clone(), path.clone()]), "ok");
    assert_eq!(id(&[]), "not-named");
    assert_eq!(id(&[link]), "weak-name");
    assert_eq!(id(&[detour.join("disk.img")]), "weak-name");
    assert_eq!(id(std::slice::from_ref(&other)), "wrong-name");
    assert_eq!(id(&[other.clone(), path.with_file_name("absent")]), "no-such-name");
    // The name counts only while it leads to the same file.
    fs::rename(&other, &path).unwrap();
    assert_eq!(id(std::slice::from_ref(&path)), "wrong-name");
}

#[test]
fn a_refusal_says_which_name_counts() {
    let folder = tempfile::tempdir().unwrap();
    let (path, meaning) = image(folder.path(), "disk.img");
    let hint = confirm(&path, &meaning, &[]).unwrap_err().hint();
    assert!(hint.contains(&format!("--destroy {}", path.display())), "{hint}");
}

#[test]
fn links_that_people_can_read_are_recommended() {
    for (name, expected) in [
        ("ata-Samsung_SSD_850_PRO_256GB_S251NXAG", false),
        ("nvme-INTEL_SSDPE2KX020T8_PHLJ0001", false),
        ("dm-name-vg-data", false),
        ("wwn-0x5002538d40000000", true),
        ("nvme-eui.0025385a71b00000", true),
        ("scsi-35002538d40000000", true),
    ] {
        assert_eq!(is_bare_identifier(&Path::new(BY_ID).join(name)), expected, "{name}");
    }
}

#[test]
fn a_link_made_of_what_the_device_carries_is_no_name() {
    for (name, expected) in [
        ("lvm-pv-uuid-3VrGFq-4bfD-nx1c-pTPX-9Ovb-Qm6p-w2Zt6s", true),
        ("ata-Samsung_SSD_850_PRO_256GB_S251NXAG", false),
        ("dm-uuid-LVM-aBcD", false),
    ] {
        assert_eq!(is_of_content(&Path::new(BY_ID).join(name)), expected, "{name}");
    }
}

/// A block device of this machine, which is only looked at: its node and its numbers.
fn any_device() -> Option<(PathBuf, (u32, u32))> {
    let nodes = names_in(Path::new("/sys/class/block")).into_iter();
    nodes.map(|name| Path::new("/dev").join(name)).find_map(|node| {
        let data = fs::symlink_metadata(&node).ok()?;
        let is_block = std::os::unix::fs::FileTypeExt::is_block_device(&data.file_type());
        let numbers = (rustix::fs::major(data.rdev()), rustix::fs::minor(data.rdev()));
        is_block.then_some((node, numbers))
    })
}

#[test]
fn a_device_is_named_by_what_always_means_it() {
    let Some((node, numbers)) = any_device() else {
        crate::testing::skip(
            "a_device_is_named_by_what_always_means_it",
            "there is no block device",
        );
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let [link, unlisted, dangling] =
        ["link", "unlisted", "dangling"].map(|name| folder.path().join(name));
    for link in [&link, &unlisted] {
        std::os::unix::fs::symlink(&node, link).unwrap();
    }
    let id = |meaning: &Meaning, given: &Path| {
        let answer = confirm(&node, meaning, &[given.to_owned()]);
        answer.map_or_else(|error| error.id(), |()| "ok")
    };
    let another = (numbers.0, numbers.1 + 1);

    let links = vec![dangling.clone(), link.clone()];
    let linked = |numbers| Meaning::Linked { numbers, links: links.clone() };
    assert_eq!(id(&linked(numbers), &link), "ok");
    assert_eq!(id(&linked(numbers), &unlisted), "weak-name");
    assert_eq!(id(&linked(numbers), &node), "weak-name");
    assert_eq!(id(&linked(numbers), &dangling), "no-such-name");
    assert_eq!(id(&linked(another), &link), "wrong-name", "it leads to another device by now");
    assert_eq!(id(&linked(another), &unlisted), "wrong-name");

    let plain = |numbers, node: &Path| Meaning::Node { numbers, node: node.to_owned() };
    assert_eq!(id(&plain(numbers, &node), &node), "ok");
    assert_eq!(id(&plain(numbers, &node), &link), "weak-name");
    assert_eq!(id(&plain(numbers, &link), &link), "weak-name", "a link has taken its place");
    assert_eq!(id(&plain(another, &node), &node), "wrong-name", "another device by now");
    assert_eq!(id(&plain(another, &node), &link), "wrong-name");

    let (path, _) = image(folder.path(), "disk.img");
    let file = file_of(&path).unwrap();
    let backing = |device| Meaning::File { file, path: path.clone(), device };
    assert_eq!(id(&backing(Some(numbers)), &path), "ok");
    assert_eq!(id(&backing(Some(numbers)), &node), "weak-name");
    assert_eq!(id(&backing(Some(another)), &node), "wrong-name");
}
