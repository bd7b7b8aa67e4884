use trimbench_core::Bytes;

use super::*;

const FILE: FileId = FileId(7);
const CREATE: FileCommand = FileCommand::Create { file: FILE };
const READ: FileCommand = FileCommand::Read { file: FILE, offset: Bytes(0), length: Bytes(4096) };
const FSYNC: FileCommand = FileCommand::Fsync { file: FILE };
const UNLINK: FileCommand = FileCommand::Unlink { file: FILE };

fn with_file() -> Files {
    let mut files = Files::default();
    assert_eq!(files.admit(Tag(0), FILE, CREATE), Ok(true));
    files.ended(FILE);
    files
}

#[test]
fn what_was_never_made_or_is_gone_is_unknown() {
    let mut files = Files::default();
    let unknown = Err(Rejected::UnknownFile { file: FILE });
    assert_eq!(files.admit(Tag(1), FILE, READ), unknown);
    let mut files = with_file();
    assert_eq!(files.admit(Tag(1), FILE, UNLINK), Ok(true));
    assert_eq!(files.admit(Tag(2), FILE, READ), unknown, "the unlink came first");
    files.ended(FILE);
    assert!(files.entries.is_empty());
}

#[test]
fn reads_run_side_by_side_and_an_unlink_waits_for_all_of_them() {
    let mut files = with_file();
    assert_eq!(files.admit(Tag(1), FILE, READ), Ok(true));
    assert_eq!(files.admit(Tag(2), FILE, READ), Ok(true));
    assert_eq!(files.admit(Tag(3), FILE, UNLINK), Ok(false));
    files.ended(FILE);
    assert_eq!(files.startable(FILE), None);
    files.ended(FILE);
    assert_eq!(files.startable(FILE), Some((Tag(3), UNLINK)));
    assert_eq!(files.startable(FILE), None);
}

#[test]
fn an_fsync_waits_for_what_came_before_and_lets_reads_pass() {
    let mut files = with_file();
    assert_eq!(files.admit(Tag(1), FILE, READ), Ok(true));
    assert_eq!(files.admit(Tag(2), FILE, FSYNC), Ok(false));
    assert_eq!(files.admit(Tag(3), FILE, READ), Ok(false), "not before the fsync started");
    files.ended(FILE);
    assert_eq!(files.startable(FILE), Some((Tag(2), FSYNC)));
    assert_eq!(files.startable(FILE), Some((Tag(3), READ)));
    assert_eq!(files.admit(Tag(4), FILE, READ), Ok(true));
}

#[test]
fn a_file_can_be_made_again_after_its_unlink() {
    let mut files = with_file();
    assert_eq!(files.admit(Tag(1), FILE, UNLINK), Ok(true));
    assert_eq!(files.admit(Tag(2), FILE, CREATE), Ok(false));
    assert_eq!(files.admit(Tag(3), FILE, READ), Ok(false));
    files.ended(FILE);
    assert_eq!(files.startable(FILE), Some((Tag(2), CREATE)));
    assert_eq!(files.startable(FILE), None, "the file is still being made");
    files.ended(FILE);
    assert_eq!(files.startable(FILE), Some((Tag(3), READ)));
}

#[test]
fn a_file_that_could_not_be_made_is_unknown_afterwards() {
    let mut files = Files::default();
    assert_eq!(files.admit(Tag(0), FILE, CREATE), Ok(true));
    files.never_came(FILE);
    files.ended(FILE);
    assert_eq!(files.admit(Tag(1), FILE, READ), Err(Rejected::UnknownFile { file: FILE }));
}

#[test]
fn only_so_many_files_stay_open() {
    let mut files = Files::default();
    let open = Arc::new(OwnedFd::from(std::fs::File::open("/").unwrap()));
    for number in 0..400 {
        let file = FileId(number);
        files.admit(Tag(number), file, FileCommand::Create { file }).unwrap();
        files.ended(file);
        files.keep_open(file, Arc::clone(&open));
    }
    assert_eq!(Arc::strong_count(&open), OPEN_FILES + 1);
    assert!(files.open(FileId(399)).is_some());
    assert!(files.open(FileId(0)).is_none());
}
