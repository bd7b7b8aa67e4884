//! Job files, completions, man pages and progress for programs.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::tempdir;

use super::{code, command, small, stderr, stdout, trimbench};

#[test]
fn what_a_dry_run_prints_is_a_job_that_gives_the_same_record() {
    let folder = tempdir().unwrap();
    let target = ["--target", "sim:like-rc100", "--seed", "7"];
    let dry = small(&[&target[..], &["--dry-run", "--output-format", "toml"]].concat());
    let job = trimbench(folder.path(), &dry);
    assert_eq!(code(&job), Some(0), "{}", stderr(&job));
    std::fs::write(folder.path().join("run.toml"), stdout(&job)).unwrap();
    for arguments in [
        small(&[&target[..], &["-o", "by-hand"]].concat()),
        vec!["run", "--job", "run.toml", "-o", "by-job"],
    ] {
        let output = trimbench(folder.path(), &arguments);
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    }
    let record = |name: &str| std::fs::read(folder.path().join(name).join("run.json")).unwrap();
    assert!(record("by-hand") == record("by-job"), "the records differ");
}

#[test]
fn a_quiet_run_prints_its_results_and_nothing_else() {
    let folder = tempdir().unwrap();
    let output = trimbench(folder.path(), &small(&["-t", "sim:like-rc100", "-q"]));
    assert_eq!((code(&output), stderr(&output).as_str()), (Some(0), ""));
    assert!(stdout(&output).contains("stutter"), "{}", stdout(&output));
    let failing = small(&["-t", "sim:like-rc100", "-q", "--limit", "stutter=1us/GB"]);
    let output = trimbench(folder.path(), &failing);
    assert_eq!(code(&output), Some(1));
    assert!(stderr(&output).contains("FAILS"), "{}", stderr(&output));
}

#[test]
fn progress_for_programs_counts_down_and_its_reader_may_go_away() {
    let folder = tempdir().unwrap();
    let arguments = small(&["-t", "sim:like-rc100", "--progress", "json", "-o", "run"]);
    let output = trimbench(folder.path(), &arguments);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let errors = stderr(&output);
    let lines = errors.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!lines.is_empty(), "{errors}");
    for line in &lines {
        assert_eq!(line["event"], "progress");
        assert!(line["left_s"].as_f64().unwrap() >= 0.0, "{line}");
    }
    let arguments = small(&["-t", "sim:like-rc100", "--progress", "json", "-o", "unread"]);
    let mut run = command(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop((run.stdout.take(), run.stderr.take()));
    assert_eq!(run.wait().unwrap().code(), Some(0), "a closed pipe is no error");
}

#[test]
fn man_pages_know_every_option_of_run() {
    let folder = tempdir().unwrap();
    let printed = |arguments: &[&str]| {
        let output = trimbench(folder.path(), arguments);
        assert_eq!(code(&output), Some(0), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    };
    let help = printed(&["help", "run"]);
    let options = help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 4);
    let options: Vec<&str> =
        options.map(|word| word.trim_end_matches([',', '.', ';', ')'])).collect();
    assert!(options.len() > 15, "{help}");
    let page = printed(&["man", "run"]).replace("\\-", "-");
    for option in ["--job", "--target", "--destroy", "--progress"] {
        assert!(options.contains(&option) && page.contains(option), "{option}: {page}");
    }
    assert!(printed(&["man"]).contains(".TH trimbench 1"));
    assert!(page.contains(".TH trimbench-run 1"), "{page}");
    assert!(page.contains("\"trimbench ") && !printed(&["man", "trace"]).contains("help(1)"));
    assert!(printed(&["list"]).contains("delete-stall") && printed(&["list"]).contains("vendor2"));
}

/// Bash breaks words at `:` and `=`; what it gets replaces the last part only.
#[test]
fn bash_completes_methods_profiles_and_options() {
    let folder = tempdir().unwrap();
    let script = stdout(&trimbench(folder.path(), &["completions", "bash"]));
    std::fs::write(folder.path().join("script"), script).unwrap();
    std::fs::create_dir(folder.path().join("some folder")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_trimbench")).parent().unwrap();
    let completed = |line: &str, words: &[&str]| {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let last = words.len() - 1;
        let call = format!(
            "PATH='{}':$PATH; compopt() {{ :; }}; source ./script; COMP_LINE='{line}'; \
             COMP_WORDS=({}); COMP_CWORD={last}; _trimbench trimbench '{}' ''; \
             printf '%s|' \"${{COMPREPLY[@]}}\"",
            program.display(),
            quoted.join(" "),
            words[last]
        );
        let bash = Command::new("bash")
            .args(["--norc", "-c", &call])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&bash.stderr), "", "{line}");
        String::from_utf8(bash.stdout).unwrap()
    };
    for (line, words, replies) in [
        (
            "trimbench run delete-",
            &["trimbench", "run", "delete-"][..],
            "delete-stall|delete-storm|",
        ),
        (
            "trimbench run -t sim:like-rc",
            &["trimbench", "run", "-t", "sim", ":", "like-rc"],
            "like-rc100|",
        ),
        (
            "trimbench run -t ext4:sim:like-rc",
            &["trimbench", "run", "-t", "ext4", ":", "sim", ":", "like-rc"],
            "like-rc100|",
        ),
        (
            "trimbench run -t sim:like-rc100,trim.comm",
            &["trimbench", "run", "-t", "sim", ":", "like-rc100,trim.comm"],
            "like-rc100,trim.command=|like-rc100,trim.command_max=|",
        ),
        (
            "trimbench run -t sim:like-rc100,trim.mode=ignored,trim.command_",
            &[
                "trimbench",
                "run",
                "-t",
                "sim",
                ":",
                "like-rc100,trim.mode",
                "=",
                "ignored,trim.command_",
            ],
            "ignored,trim.command_max=|",
        ),
        ("trimbench run --set patie", &["trimbench", "run", "--set", "patie"], "patience=|"),
        ("trimbench list meth", &["trimbench", "list", "meth"], "methods|"),
        ("trimbench run so", &["trimbench", "run", "so"], r"some\ folder/|"),
        ("trimbench run -t sim:no-such", &["trimbench", "run", "-t", "sim", ":", "no-such"], "|"),
    ] {
        assert_eq!(completed(line, words), replies, "{line}");
    }
}

#[test]
fn version_names_release_commit_model_and_platform() {
    let folder = tempdir().unwrap();
    let release = concat!("trimbench ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(stdout(&trimbench(folder.path(), &["-V"])), release);
    let long = stdout(&trimbench(folder.path(), &["--version"]));
    let parts = [release, "\ncommit ", "\nmodel version ", "\ntarget ", "-linux-gnu, "];
    for part in parts {
        assert!(long.contains(part), "{part}: {long}");
    }
    let commit = long.split_once("\ncommit ").unwrap().1.lines().next().unwrap();
    let digits = commit.trim_end_matches("-dirty");
    assert!(commit == "unknown" || digits.len() == 40, "{commit}");
}

#[test]
fn records_of_one_drive_each_are_compared_whatever_the_drives() {
    let folder = tempdir().unwrap();
    for drive in ["like-rc100", "vendor1"] {
        let target = format!("sim:{drive}");
        let output = trimbench(folder.path(), &small(&["-t", &target, "-o", drive]));
        assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    }
    let output = trimbench(folder.path(), &["compare", "like-rc100", "vendor1"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let summary = "like-rc100 before, vendor1 after: 1 session compared, ";
    assert!(text.starts_with(summary), "{text}");
    assert!(!text.contains("only before"), "{text}");
}
