use std::os::unix::fs::PermissionsExt as _;

use super::*;

struct Place {
    _folder: tempfile::TempDir,
    entries: PathBuf,
    things: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let (entries, things) = (folder.path().join("entries"), folder.path().join("things"));
    fs::create_dir(&things).unwrap();
    Place { _folder: folder, entries, things }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn what_a_killed_process_registered_is_removed_and_nothing_else() {
    let Place { entries, things, .. } = &place();
    let make = |what| {
        let token = RegistryToken::in_folder(entries, what).unwrap();
        fs::create_dir(things.join(token.name())).unwrap();
        token
    };
    let (living, dead, other) =
        (make(RegistryKind::Tracing), make(RegistryKind::Tracing), make(RegistryKind::Memory));
    for foreign in ["trimbench-prod", "trimbench-999999-0", "trimbench-0123456789abcdef"] {
        fs::create_dir(things.join(foreign)).unwrap();
    }
    let gone = dead.name().to_owned();
    drop(dead);
    let other_name = other.name().to_owned();
    drop(other);
    clean_in(entries, RegistryKind::Tracing, things).unwrap();
    assert!(!things.join(&gone).exists());
    assert_eq!(names(things).len(), 5, "{:?}", names(things));
    assert!(things.join(living.name()).exists() && things.join(other_name).exists());
    assert_eq!(names(entries).len(), 2, "the entry went with the thing");
    living.forget();
    assert_eq!(names(entries).len(), 1);
}

#[test]
fn what_resists_stays_registered() {
    let Place { entries, things, .. } = &place();
    let token = RegistryToken::in_folder(entries, RegistryKind::Memory).unwrap();
    let thing = things.join(token.name());
    fs::create_dir_all(thing.join("in use")).unwrap();
    drop(token);
    clean_in(entries, RegistryKind::Memory, things).unwrap();
    assert_eq!((thing.exists(), names(entries).len()), (true, 1));
    fs::remove_dir_all(&thing).unwrap();
    clean_in(entries, RegistryKind::Memory, things).unwrap();
    assert_eq!(names(entries).len(), 0, "what is gone already is forgotten");
}

#[test]
fn a_directory_that_others_may_enter_or_that_a_link_leads_to_is_refused() {
    let Place { entries, things, .. } = &place();
    for mode in [0o710, 0o701, 0o777] {
        fs::set_permissions(things, fs::Permissions::from_mode(mode)).unwrap();
        let refused = RegistryToken::in_folder(things, RegistryKind::Tracing);
        assert_eq!(refused.unwrap_err(), Errno(libc::EPERM), "{mode:o}");
    }
    fs::set_permissions(things, fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(things, entries).unwrap();
    assert!(RegistryToken::in_folder(entries, RegistryKind::Tracing).is_err());
    assert_eq!(names(things), Vec::<String>::new());
}

#[test]
fn entries_that_are_linked_or_no_files_are_left_alone() {
    let Place { entries, things, .. } = &place();
    let token = RegistryToken::in_folder(entries, RegistryKind::Memory).unwrap();
    let linked = things.join(token.name());
    fs::create_dir(&linked).unwrap();
    fs::hard_link(token.entry(), entries.join("second")).unwrap();
    drop(token);
    fs::create_dir(entries.join("memory-0123456789abcdef")).unwrap();
    fs::create_dir(things.join("trimbench-0123456789abcdef")).unwrap();
    clean_in(entries, RegistryKind::Memory, things).unwrap();
    assert!(linked.exists() && things.join("trimbench-0123456789abcdef").exists());
}

#[test]
fn only_whole_tokens_of_the_kind_count() {
    for (entry, expected) in [
        ("memory-0123456789abcdef", Some(0x0123_4567_89ab_cdef)),
        ("memory-0123456789ABCDEF", None),
        ("memory-+123456789abcdef", None),
        ("memory-123", None),
        ("memory-00123456789abcdef", None),
        ("tracing-0123456789abcdef", None),
        ("memory0123456789abcdef", None),
    ] {
        assert_eq!(token_of(RegistryKind::Memory, entry), expected, "{entry}");
    }
}

#[test]
fn the_socket_of_a_killed_process_is_removed_and_that_of_a_living_one_is_found() {
    let Place { entries, .. } = &place();
    let make = || {
        let token = RegistryToken::in_folder(entries, RegistryKind::Socket).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(token.socket()).unwrap();
        (token, socket)
    };
    let ((living, _socket), dead) = (make(), make());
    let foreign = entries.join("trimbench-0123456789abcdef");
    fs::write(&foreign, "").unwrap();
    let gone = dead.0.socket();
    drop(dead);
    assert_eq!(sockets_in(entries).unwrap(), [living.socket()]);
    assert!(!gone.exists() && foreign.exists());
    assert_eq!(names(entries).len(), 3, "the living one's two, and the foreign one");
}
