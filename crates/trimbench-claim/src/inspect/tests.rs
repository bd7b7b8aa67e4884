use super::*;

#[test]
fn models_of_hypervisors_are_known_and_those_of_drives_are_not_mistaken() {
    for (model, expected) in [
        ("QEMU NVMe Ctrl", true),
        ("ATA QEMU HARDDISK", true),
        ("Amazon Elastic Block Store", true),
        ("Msft Virtual Disk", true),
        ("Google PersistentDisk", true),
        ("Linux", true),
        ("Samsung SSD 970 EVO 1TB", false),
        ("INTEL SSDPE2KX020T8", false),
        ("ATA Crucial_CT240M50", false),
        ("Amazon EC2 NVMe Instance Storage", false),
        ("", false),
    ] {
        assert_eq!(is_virtual_model(model), expected, "{model}");
    }
}

#[test]
fn recorded_texts_of_procfs_are_parsed() {
    let memory = "MemTotal:       24684084 kB\nMemFree:        24429540 kB\n";
    assert_eq!(field(memory, "MemTotal").unwrap(), "24684084 kB");
    assert_eq!(field(memory, "Swap"), None);
    assert_eq!(kibibytes("24684084 kB").unwrap(), "25276502016");
    assert_eq!(kibibytes("24684084"), None);
    let stalls = "some avg10=0.04 avg60=0.07 avg300=0.12 total=5887162\n\
                  full avg10=0.03 avg60=0.06 avg300=0.11 total=5719645\n";
    assert_eq!(pressure(stalls).unwrap(), "0.04");
    assert_eq!(pressure("full avg10=1.00"), None);
}

#[test]
fn the_snapshot_names_kernel_filesystem_and_memory_and_leaves_out_what_is_empty() {
    let found = environment(Path::new("/")).unwrap();
    for key in ["kernel", "filesystem", "mount-options", "memory-bytes", "cpus", "free-bytes"] {
        assert!(found.contains_key(key), "{key} in {found:?}");
    }
    assert!(found.values().all(|text| !text.trim().is_empty()), "{found:?}");
    assert!(
        found
            .keys()
            .all(|key| key.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')))
    );
}

#[test]
fn what_has_no_device_is_no_ssd() {
    let mount = mount_of(Path::new("/proc")).unwrap();
    assert!(!is_physical_ssd(&mount));
    assert!(environment(Path::new("/nowhere")).is_err());
}
