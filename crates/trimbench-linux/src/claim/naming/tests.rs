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
