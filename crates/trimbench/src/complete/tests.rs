use std::ffi::OsString;

use super::*;

/// What completes the last of these words.
fn replies(words: &[&str]) -> Vec<String> {
    let words: Vec<OsString> = [NAME].iter().chain(words).map(OsString::from).collect();
    let last = words.len() - 1;
    let found = clap_complete::engine::complete(&mut Args::command(), words, last, None).unwrap();
    found.iter().map(|it| it.get_value().to_string_lossy().into_owned()).collect()
}

#[test]
fn values_are_completed_wherever_they_may_stand() {
    for (words, reply) in [
        (&["run", "delete-"][..], "delete-stall"),
        (&["run", "--target", "sim:gen"], "sim:generic-nvme-tlc"),
        (&["run", "-t", "ext4:sim:like-r"], "ext4:sim:like-rc100"),
        (&["run", "-t", "xf"], "xfs:sim:"),
        (&["run", "--target", "sim:like-rc100,trim.com"], "sim:like-rc100,trim.command="),
        (
            &["run", "--target", "sim:like-rc100,capacity=4GiB,cap"],
            "sim:like-rc100,capacity=4GiB,capacity=",
        ),
        (&["run", "sim:like-r"], "sim:like-rc100"),
        (&["run", "--set", "pati"], "patience="),
        (&["run", "--preset", "st"], "standard"),
        (&["list", "idle"], "idle-trim"),
        (&["list", "meth"], "methods"),
        (&["list", "--explain", "generic-nvme-q"], "generic-nvme-qlc"),
        (&["what-if", "generic-nvme-q"], "generic-nvme-qlc"),
        (&["what-if", "generic-nvme-qlc,trim.per_gib_m"], "generic-nvme-qlc,trim.per_gib_mapped="),
        (&["fit", "--predict", "rec"], "recovery"),
        (&["fit", "--base", "plain"], "plain-nvme-tlc"),
        (&["man", "what"], "what-if"),
        (&["man", "trace", "conv"], "convert"),
        (&["run", "--purge-no-such", ""], "delete-stall"),
    ] {
        let found = replies(words);
        assert!(found.contains(&reply.to_owned()), "{words:?}: {found:?}");
    }
}

#[test]
fn what_does_not_begin_so_is_no_reply() {
    for words in [&["run", "-t", "sim:zz"][..], &["run", "--set", "zz"], &["list", "zz"]] {
        assert_eq!(replies(words), Vec::<String>::new(), "{words:?}");
    }
    let files = replies(&["run", "-t", "/et"]);
    assert!(files.iter().any(|it| it.starts_with("/etc")), "{files:?}");
}

/// Each shell's script asks the program; that bash runs its own is for the tests of the program.
#[test]
fn every_shell_has_a_script_that_asks_the_program() {
    for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
        let script = registration(shell);
        assert!(script.contains(VARIABLE) && script.contains(NAME), "{shell}: {script}");
    }
    assert!(registration(Shell::Zsh).ends_with(ZSH_LOADED), "its end is another one");
}
