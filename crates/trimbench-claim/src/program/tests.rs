use super::*;

#[test]
fn programs_are_found_in_the_folders_of_the_system_only() {
    assert!(program_path("sh").is_some_and(|path| path.ends_with("bin/sh")));
    // A folder is no program, and neither is a path that leaves those folders.
    for absent in ["", "no-such-program", "."] {
        assert_eq!(program_path(absent), None, "{absent}");
    }
}

#[test]
fn programs_see_an_environment_of_our_own_and_no_input() {
    // The variables that cargo sets for tests are not passed on.
    let output = program("env").expect("coreutils are there").output().expect("it starts");
    let text = String::from_utf8(output.stdout).expect("it is ours");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["LC_ALL=C", "PATH=/usr/sbin:/sbin:/usr/bin:/bin"]);
    let output = program("cat").expect("coreutils are there").output().expect("it starts");
    assert!(output.status.success() && output.stdout.is_empty());
}
