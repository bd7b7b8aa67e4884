//! Nothing is destroyed that was not named: each row of `obstacles::ATTEMPTS` is refused, changes
//! nothing, and is let through once its obstacle is gone; a gate that refuses everything would pass
//! otherwise.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use tests::Need::{Filesystem, Fuse, Loop, Program, RamDisk, Root};
use tests::fuse_image::FuseImage;
use tests::obstacles::{ATTEMPTS, Attempt, Scene};
use tests::slow_disk::SlowDisk;
use tests::{requires, run};
use trimbench_claim::{Claim, ClaimError, Consent, Inspection};

/// What is written as proof that a claim permits it.
const BLOCK: usize = 4096;

fn consent(scene: &Scene) -> Consent {
    let (destroy, signatures) = (scene.destroy.clone(), scene.signatures.clone());
    Consent { destroy, signatures, sole_user: scene.sole_user, ..Consent::default() }
}

/// Looks, lets happen what happens meanwhile, and claims.
fn attempt(scene: &mut Scene) -> Result<Claim, ClaimError> {
    let inspection = Inspection::of(&scene.target);
    scene.pass_time();
    inspection?.claim(&consent(scene))
}

/// Overwrites the first block through the claim.
fn overwrite(claim: Claim) {
    claim.check().expect("nothing has changed since it was claimed");
    let is_image = claim.inspection().is_image();
    let (file, guard) = claim.into_parts();
    guard.check().expect("the same after taking it apart");
    // Direct I/O wants aligned memory: one of two blocks' worth of addresses is.
    let buffer = vec![b'!'; 2 * BLOCK];
    let start = buffer.as_ptr().align_offset(BLOCK);
    let file = File::from(file);
    file.write_all_at(&buffer[start..start + BLOCK], 0).expect("it is open for writing");
    file.sync_all().expect("written");
    assert!(is_image || guard.inspection().identity().contains_key("device-name"));
}

/// Prints a row of the table, for `--nocapture`.
#[expect(clippy::print_stdout, reason = "the table is what this test shows")]
fn print(row: &Attempt, error: &ClaimError) {
    println!("{:28} {:18} {error}", row.name, error.id());
    println!("{:28} {:18} hint: {}", "", "", error.hint());
}

/// What is wrong with how a row was answered; `None` if nothing is.
fn fault_of(row: &Attempt) -> Option<String> {
    let mut scene = row.scene();
    let before = scene.checksums();
    let Err(error) = attempt(&mut scene) else { return Some("was let through".to_owned()) };
    let mut after = scene.checksums();
    // Files that changed places did not change.
    let mut unchanged = before.clone();
    unchanged.sort_unstable();
    after.sort_unstable();
    if after != unchanged {
        return Some("content changed".to_owned());
    }
    if !row.refusals.contains(&error.id()) {
        return Some(format!("refused as `{}`: {error}", error.id()));
    }
    if error.hint().is_empty() {
        return Some("no hint".to_owned());
    }
    print(row, &error);
    if !scene.lift() {
        return None;
    }
    let before = scene.checksums();
    match attempt(&mut scene) {
        Err(error) => return Some(format!("still refused without its obstacle: {error}")),
        Ok(claim) => overwrite(claim),
    }
    // The checksum would have told.
    (scene.checksums() == before).then(|| "a write went nowhere".to_owned())
}

#[test]
fn each_attempt_is_refused_changes_nothing_and_succeeds_without_its_obstacle() {
    let _alone = tests::machine::alone();
    let mut faults = Vec::new();
    let mut attempted = 0;
    for row in ATTEMPTS {
        if !requires(row.name, row.needs) {
            continue;
        }
        attempted += 1;
        faults.extend(fault_of(row).map(|fault| format!("{}: {fault}", row.name)));
    }
    println!("{attempted} attempts");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_kind_of_refusal_stands_in_the_reference_and_every_row_expects_one_of_them() {
    let page = include_str!("../docs/reference/safety.md");
    for row in ATTEMPTS {
        assert!(!row.refusals.is_empty(), "{}", row.name);
        for refusal in row.refusals {
            assert!(page.contains(&format!("| `{refusal}` |")), "{refusal} of {}", row.name);
        }
    }
    let code = include_str!("../crates/trimbench-claim/src/claim/refusal.rs");
    let code = code.split("const fn id(").nth(1).and_then(|rest| rest.split("fn hint").next());
    let ids = code.expect("the function is there").lines();
    let ids: Vec<&str> = ids.filter_map(|line| line.split("=> \"").nth(1)).collect();
    assert!(ids.len() > 25, "{ids:?}");
    for id in ids {
        let id = id.trim_end_matches(['"', ',']);
        assert!(page.contains(&format!("| `{id}` |")), "`{id}` is not in the reference");
    }
}

/// A claim, and what happens to the target after it.
fn refusal_after(scene: &mut Scene, happening: impl FnOnce(&mut Scene)) -> ClaimError {
    let claim = attempt(scene).expect("nothing is in the way");
    claim.check().expect("nothing has happened");
    happening(scene);
    claim.check().expect_err("something has happened")
}

#[test]
fn what_changes_between_claim_and_first_write_is_noticed() {
    let test = "what_changes_between_claim_and_first_write_is_noticed";
    if !requires(test, &[Root, Loop, RamDisk]) {
        return;
    }
    let _alone = tests::machine::alone();
    let mut scene = Scene::default();
    let image = scene.image_target();
    let other = scene.image("other");
    let error = refusal_after(&mut scene, |_| std::fs::rename(&other, &image).unwrap());
    assert_eq!(error.id(), "changed", "{error}");

    let mut scene = Scene::default();
    let image = scene.image_target();
    let error = refusal_after(&mut scene, |scene| {
        scene.attach(&image);
    });
    assert_eq!(error.id(), "attached", "{error}");

    let mut scene = Scene::default();
    let image = scene.image_target();
    let error = refusal_after(&mut scene, |_| {
        File::options().write(true).open(&image).unwrap().set_len(4096).unwrap();
    });
    assert_eq!(error.id(), "changed", "{error}");

    let mut scene = Scene::default();
    let (image, _) = scene.loop_target();
    let other = scene.image("other");
    let error = refusal_after(&mut scene, |_| std::fs::rename(&other, &image).unwrap());
    assert_eq!(error.id(), "backing-gone", "{error}");

    let mut scene = Scene::default();
    let (_, device) = scene.loop_target();
    let error = refusal_after(&mut scene, |scene| scene.set_read_only(&device));
    assert_eq!(error.id(), "read-only", "{error}");

    let mut scene = Scene::default();
    let (device, link) = scene.ram_disk("claimed");
    let (other, _) = scene.ram_disk("other");
    scene.target = device;
    scene.destroy = vec![link.clone()];
    let error = refusal_after(&mut scene, |_| {
        std::fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
    });
    assert_eq!(error.id(), "wrong-name", "{error}");
}

#[test]
fn a_claimed_target_is_kept_from_others() {
    let test = "a_claimed_target_is_kept_from_others";
    if !requires(test, &[Root, Loop, Program("mkfs.ext4")]) {
        return;
    }
    let _alone = tests::machine::alone();
    let mut scene = Scene::default();
    let (_, device) = scene.loop_target();
    let device = device.to_str().unwrap().to_owned();
    run("mkfs.ext4", &["-q", &device]);
    scene.signatures.push("ext4".to_owned());
    let mount = |folder: &Path| {
        let arguments = [device.as_str(), folder.to_str().unwrap()];
        std::process::Command::new("mount").args(arguments).output().unwrap().status.success()
    };
    let folder = scene.folder().join("mount");
    std::fs::create_dir(&folder).unwrap();
    let point = folder.clone();
    scene.later(move || {
        // Silent: in the end it is not mounted, unless an assertion below has failed.
        let _ = std::process::Command::new("umount").arg(point).output();
    });
    let claim = attempt(&mut scene).unwrap();
    assert!(!mount(&folder), "it was mounted under us");
    let second = attempt(&mut scene).unwrap_err();
    assert_eq!(second.id(), "busy", "{second}");
    let (file, guard) = claim.into_parts();
    drop(file);
    assert!(!mount(&folder), "the guard alone keeps it");
    drop(guard);
    assert!(mount(&folder), "nothing keeps it");
    run("umount", &[folder.to_str().unwrap()]);

    let mut scene = Scene::default();
    scene.image_target();
    let claim = attempt(&mut scene).unwrap();
    assert_eq!(attempt(&mut scene).unwrap_err().id(), "locked");
    drop(claim);
    attempt(&mut scene).unwrap();
}

#[test]
fn a_superblock_that_can_be_read_now_and_then_is_found_and_never_taken_for_none() {
    let test = "a_superblock_that_can_be_read_now_and_then_is_found_and_never_taken_for_none";
    let ext4 = [Program("mkfs.ext4"), Filesystem("ext4")];
    if !requires(test, &[&[Root, Loop, Fuse][..], &ext4].concat()) {
        return;
    }
    let _alone = tests::machine::alone();
    let disk = SlowDisk::new("ext4", 48, "noatime");
    let image = disk.path().join("image");
    File::create(&image).unwrap().set_len(16 << 20).unwrap();
    run("mkfs.ext4", &["-q", "-F", image.to_str().unwrap()]);
    let mut scene = Scene::default();
    scene.target.clone_from(&image);
    scene.destroy = vec![image.clone()];
    let place = tests::place_on_disk(&image, 0) * 4096;
    for (good_reads, expected) in [(0, "probe"), (1, "signature"), (u32::MAX, "signature")] {
        let inspection = Inspection::of(&scene.target).unwrap();
        let file = File::open(&image).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        drop(file);
        disk.fail(place..place + 4096, good_reads);
        let error = inspection.claim(&consent(&scene)).unwrap_err();
        disk.heal();
        assert_eq!(error.id(), expected, "after {good_reads} good reads: {error}");
    }
    scene.signatures.push("ext4".to_owned());
    overwrite(attempt(&mut scene).unwrap());
}

#[test]
fn a_read_that_is_interrupted_is_repeated() {
    if !requires("a_read_that_is_interrupted_is_repeated", &[Root, Fuse]) {
        return;
    }
    let image = FuseImage::new(8);
    image.interrupt();
    let inspection = Inspection::of(image.path()).unwrap();
    assert!(!inspection.to_string().contains("carries"), "{inspection}");
}

#[test]
fn an_unused_partition_beside_a_mounted_one_may_be_destroyed() {
    let test = "an_unused_partition_beside_a_mounted_one_may_be_destroyed";
    if !requires(test, &[Root, Loop, Program("mkfs.ext4"), Program("addpart")]) {
        return;
    }
    let _alone = tests::machine::alone();
    let row = ATTEMPTS.iter().find(|row| row.name == "disk_of_mounted_partition").unwrap();
    let mut scene = row.scene();
    let disk = scene.target.to_str().unwrap().to_owned();
    run("addpart", &[&disk, "2", "8192", "4096"]);
    scene.target = format!("{disk}p2").into();
    // Who opens the image after the claim is noticed.
    let image = scene.witnesses[0].clone();
    let before = std::fs::read(&image).unwrap();
    let claim = attempt(&mut scene).unwrap();
    let identity = claim.inspection().identity();
    assert_eq!(identity["size-bytes"], (2 << 20).to_string());
    assert_eq!(identity["partition-of"], disk.trim_start_matches("/dev/"));
    let offset = 8192 * 512;
    overwrite(claim);
    let after = std::fs::read(&image).unwrap();
    let changed = |range: std::ops::Range<usize>| before[range.clone()] != after[range];
    assert!(changed(offset..offset + BLOCK));
    assert!(!changed(0..offset) && !changed(offset + BLOCK..before.len()));
    run("delpart", &[&disk, "2"]);
}

#[test]
fn an_image_may_lie_in_memory_and_have_holes() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let image = std::fs::canonicalize(folder.path()).unwrap().join("image");
    File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let consent = Consent { destroy: vec![image.clone()], ..Consent::default() };
    let inspection = Inspection::of(&image).unwrap();
    inspection.refusal(&consent).unwrap();
    let claim = inspection.claim(&consent).unwrap();
    assert_eq!(claim.inspection().size().0, 16 << 20);
    overwrite(claim);
    assert_eq!(std::fs::read(&image).unwrap()[..BLOCK], [b'!'; BLOCK]);
}

#[test]
fn an_inspection_describes_a_loop_device_and_what_uses_it() {
    let test = "an_inspection_describes_a_loop_device_and_what_uses_it";
    if !requires(test, &[Root, Loop, Program("mkfs.ext4")]) {
        return;
    }
    let _alone = tests::machine::alone();
    let row = ATTEMPTS.iter().find(|row| row.name == "mounted").unwrap();
    let scene = row.scene();
    let inspection = Inspection::of(&scene.target).unwrap();
    let image = scene.destroy[0].display().to_string();
    let tree = inspection.to_string();
    println!("{tree}");
    for part in [&image, "is mounted at", "carries: `ext4`", "8MiB", "stands on: "] {
        assert!(tree.contains(part), "{part} in {tree}");
    }
    let identity = inspection.identity();
    assert_eq!(identity["kind"], "loop");
    assert_eq!(identity["backing-file"], image);
    assert_eq!(inspection.destroy_names(), scene.destroy);
    let environment = inspection.environment().unwrap();
    assert_eq!(environment["device-kind"], "loop");
    assert!(environment.contains_key("device-name-2"), "{environment:?}");
}

#[test]
fn the_names_that_count_are_the_links_of_the_device_the_most_telling_first() {
    let test = "the_names_that_count_are_the_links_of_the_device_the_most_telling_first";
    if !requires(test, &[Root, RamDisk]) {
        return;
    }
    let _alone = tests::machine::alone();
    let mut scene = Scene::default();
    let (device, telling) = scene.ram_disk("telling");
    scene.ram_disk("another");
    let bare = telling.with_file_name(format!("nvme-eui.{}", std::process::id()));
    let of_content = telling.with_file_name(format!("lvm-pv-uuid-{}", std::process::id()));
    for link in [&bare, &of_content] {
        std::os::unix::fs::symlink(&device, link).unwrap();
        let removed = link.clone();
        scene.later(move || std::fs::remove_file(removed).unwrap());
    }
    let inspection = Inspection::of(&device).unwrap();
    assert_eq!(inspection.destroy_names(), [telling, bare]);
}
