use std::path::Path;

use super::super::tests::{folder, image};
use super::*;
use crate::testing::LoopDevice;

fn id(path: &Path) -> FileId {
    path.metadata().map(|data| (data.dev(), data.ino())).unwrap()
}

#[test]
fn the_kernel_says_what_is_attached_and_whether_its_name_still_leads_there() {
    let test = "the_kernel_says_what_is_attached_and_whether_its_name_still_leads_there";
    let (_folder, folder) = folder();
    let path = image(&folder.join("image"));
    let options = ["--offset", "4096", "--sizelimit", "8192"];
    let Some(device) = LoopDevice::new(test, &path, &options) else { return };
    let block = BlockDevice::from_node(&device.0).unwrap();
    let mut expected = AttachedLoop {
        name: block.name.clone(),
        path: path.clone(),
        file: Some(id(&path)),
        offset: 4096,
        size_limit: 8192,
        below: None,
        unknown: None,
    };
    assert_eq!(AttachedLoop::of(&block).as_ref(), Some(&expected));
    assert!(attached_loops().contains(&expected));
    assert!(expected.is_named());
    // A device that bears the name by now is not what is below.
    let Some(other) = LoopDevice::new(test, &image(&folder.join("other")), &[]) else { return };
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&other.0, &path).unwrap();
    let found = AttachedLoop::of(&block).unwrap();
    assert!(!found.is_named());
    expected.path.clone_from(&found.path);
    assert_eq!(found, expected);
    // A loop device may stand on another.
    let Some(above) = LoopDevice::new(test, &other.0, &[]) else { return };
    let found = AttachedLoop::of(&BlockDevice::from_node(&above.0).unwrap()).unwrap();
    assert_eq!(found.below, BlockDevice::from_node(&other.0));
}

#[test]
fn a_remembered_name_must_lead_to_the_very_file() {
    let (_folder, folder) = folder();
    let (path, other) = (image(&folder.join("image")), image(&folder.join("other")));
    let absent = folder.join("absent");
    for (path, file, expected) in [
        (&path, Some(id(&path)), true),
        (&path, Some(id(&other)), false),
        (&path, None, false),
        (&absent, Some(id(&path)), false),
        (&absent, None, false),
    ] {
        let attached = AttachedLoop {
            name: "loop7".to_owned(),
            path: path.clone(),
            file,
            offset: 0,
            size_limit: 0,
            below: None,
            unknown: None,
        };
        assert_eq!(attached.is_named(), expected, "{attached:?}");
    }
}
