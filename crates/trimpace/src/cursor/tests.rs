use super::*;

use std::fs;
use std::path::Path;

const UUID: &str = "8d1a9a0e-2b1f-4d5c-9a57-0f3f6f1d2c3b";

fn remembered() -> Remembered {
    let at = |text: &str| text.parse().unwrap();
    Remembered {
        pass: Some(BegunPass {
            begun: at("2026-03-10T01:00:00Z"),
            cursor: 123 << 30,
            discarded_bytes: 1 << 30,
            worked_s: 600,
        }),
        last: Some(CompletedPass {
            begun: at("2026-03-03T01:00:00Z"),
            ended: at("2026-03-04T02:00:00Z"),
            discarded_bytes: 7 << 30,
            worked_s: 3_600,
        }),
    }
}

/// A memory in a folder, with `/run` beside it.
fn memory(folder: &Path) -> Memory {
    let running = OutputDirectory::create(&folder.join("run")).unwrap();
    Memory::open(&folder.join("made/for/it"), running).unwrap()
}

#[test]
fn what_is_kept_is_remembered_and_of_others_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(folder.path());
    assert_eq!(memory.of(UUID).unwrap(), Remembered::default());
    memory.keep(UUID, &remembered()).unwrap();
    assert_eq!(memory.of(UUID).unwrap(), remembered());
    assert_eq!(memory.of("another").unwrap(), Remembered::default());
    // Between two writes to the disk; after a start of the machine `/run` is empty.
    let mut later = remembered();
    later.pass.as_mut().unwrap().cursor += 1;
    memory.keep_running(UUID, &later).unwrap();
    assert_eq!(memory.of(UUID).unwrap(), later);
    fs::remove_file(folder.path().join("run").join(file_of(UUID))).unwrap();
    assert_eq!(memory.of(UUID).unwrap(), remembered());
    // Whoever removes the state wants to begin anew.
    memory.keep(UUID, &later).unwrap();
    fs::remove_file(folder.path().join("made/for/it").join(file_of(UUID))).unwrap();
    assert_eq!(memory.of(UUID).unwrap(), Remembered::default());
}

#[test]
fn any_changed_byte_is_noticed_and_the_file_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(folder.path());
    memory.keep(UUID, &remembered()).unwrap();
    fs::remove_file(folder.path().join("run").join(file_of(UUID))).unwrap();
    let path = folder.path().join("made/for/it").join(file_of(UUID));
    let whole = fs::read(&path).unwrap();
    for place in (0..whole.len()).step_by(3) {
        let mut torn = whole.clone();
        torn[place] ^= 1;
        fs::write(&path, &torn).unwrap();
        match memory.of(UUID) {
            // White space.
            Ok(same) => assert_eq!(same, remembered()),
            Err(MemoryError::Damaged { kept, .. } | MemoryError::Foreign { kept, .. }) => {
                assert_eq!(fs::read(path.with_file_name(kept)).unwrap(), torn);
                assert!(!path.exists());
            }
            Err(other) => panic!("{other}"),
        }
    }
    for length in [0, 1, whole.len() / 2, whole.len() - 3] {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(matches!(memory.of(UUID), Err(MemoryError::Damaged { .. })), "{length}");
    }
    assert_eq!(memory.of(UUID).unwrap(), Remembered::default(), "it begins anew");
}

#[test]
fn a_file_of_another_filesystem_or_release_is_said_to_be_that() {
    let folder = tempfile::tempdir().unwrap();
    let memory = memory(folder.path());
    memory.keep("another", &remembered()).unwrap();
    let path = folder.path().join("made/for/it").join(file_of(UUID));
    fs::rename(path.with_file_name("another.json"), &path).unwrap();
    let error = memory.of(UUID).unwrap_err().to_string();
    assert!(error.contains("of the filesystem another"), "{error}");
    fs::write(&path, "{\"format\": 2, \"more\": 1}").unwrap();
    let error = memory.of(UUID).unwrap_err().to_string();
    assert!(error.contains("of format 2"), "{error}");
}

#[test]
fn a_pass_that_was_killed_behind_its_last_call_is_complete() {
    let now = "2026-03-11T00:00:00Z".parse().unwrap();
    let mut killed = remembered();
    killed.pass.as_mut().unwrap().cursor = u64::MAX;
    let settled = killed.settled(now);
    assert_eq!(settled.pass, None);
    assert_eq!(settled.last, Some(killed.pass.unwrap().completed(now)));
    assert_eq!(remembered().settled(now), remembered());
}

#[test]
fn after_the_clock_was_set_back_the_future_is_now() {
    let now = "2026-03-05T00:00:00Z".parse().unwrap();
    let settled = remembered().settled(now);
    let (pass, last) = (settled.pass.unwrap(), settled.last.unwrap());
    assert_eq!((pass.begun, pass.cursor), (now, remembered().pass.unwrap().cursor));
    assert_eq!(
        (last.begun, last.ended),
        (remembered().last.unwrap().begun, remembered().last.unwrap().ended)
    );
    let earlier = "2026-01-01T00:00:00Z".parse().unwrap();
    assert_eq!(remembered().settled(earlier).last.unwrap().begun, earlier);
}
