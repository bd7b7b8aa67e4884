use clap::Parser as _;

use super::*;
use crate::args::{Args, Command};

fn arguments(more: &[&str]) -> RunArgs {
    let Command::Run(args) = Args::parse_from(["trimbench", "run"].iter().chain(more)).command
    else {
        panic!("it is a run");
    };
    args
}

fn read(text: &str) -> Result<RunArgs, Failure> {
    let mut args = arguments(&[]);
    Job { name: "run.toml", text }.read_into(&mut args)?;
    Ok(args)
}

#[test]
fn a_job_means_what_the_arguments_meant_of_which_it_was_made() {
    for more in [
        &["delete-stall", "--set", "window=10s", "--set", "sizes=1GB,2GB", "--seed", "7"][..],
        &[
            "-t",
            "sim:vendor2,capacity=32GiB",
            "-t",
            "/tmp",
            "--limit",
            "p99.9=5ms",
            "--preset",
            "standard",
        ],
        &["delete-stall", "--deletes", "4GiB", "--set", "window=10s"],
        &["--capacity", "64GiB", "--seed", "18446744073709551615"],
        &["replay", "--set", "trace=a \"quoted\"\\name\twith everything", "-t", "sim:vendor1"],
        &[],
    ] {
        let args = arguments(more);
        let plan = Plan::new(&args).unwrap();
        let job = described(&args, &plan);
        let again = read(&job).unwrap_or_else(|error| panic!("{}: {job}", error.message()));
        let planned = Plan::new(&again).unwrap();
        let sessions = |plan: &Plan| {
            plan.sessions.iter().map(|session| session.planned.clone()).collect::<Vec<_>>()
        };
        assert_eq!(sessions(&planned), sessions(&plan), "{job}");
        assert_eq!((planned.seed, planned.named), (plan.seed, plan.named), "{job}");
        assert_eq!(planned.limits, plan.limits, "{job}");
        assert_eq!(described(&again, &planned), job);
    }
}

#[test]
fn lists_and_numbers_may_be_written_as_toml_has_them() {
    let args = read(
        "format = 1\nmethods = ['delete-stall']\n[settings]\nsizes = ['1GB', '2GB']\n\
         repetitions = 3\n",
    );
    assert_eq!(args.unwrap().set, ["repetitions=3", "sizes=1GB,2GB"]);
}

#[test]
fn consent_is_refused_wherever_it_stands() {
    for key in CONSENT {
        let failure = read(&format!("format = 1\n\n{key} = ['/dev/vdb']\n")).unwrap_err();
        assert!(failure.message().contains("line 3"), "{}", failure.message());
        let hint = failure.hint.unwrap();
        assert!(hint.contains("on the command line only") && hint.contains(key), "{hint}");
    }
    let args = arguments(&[
        "-t",
        "/tmp",
        "--destroy",
        "/dev/vdb",
        "--overwrite-signature",
        "gpt",
        "--sole-user",
    ]);
    let job = described(
        &args,
        &Plan { targets: vec!["/tmp".to_owned()], ..Plan::new(&arguments(&[])).unwrap() },
    );
    assert!(!job.contains("/dev/vdb") && !job.contains("gpt") && !job.contains("sole"), "{job}");
}

#[test]
fn a_mistake_is_named_with_its_line() {
    for (text, expected) in [
        ("format = 1\nmethods = 'all'\n", "line 2: `methods` must be a list"),
        ("format = 1\nmethods = [['a']]\n", "line 2: `methods` must be a text or a number"),
        ("format = 1\ncapacity = '1G'\n", "line 2: `capacity`: `1G` could be 1GB"),
        ("format = 1\n\nseed = -1\n", "line 3: `seed = -1` is not a whole number"),
        ("format = 1\nsettings = 1\n", "line 2: `settings` must be a table"),
        ("format = 1\nmethods = [\n", "`run.toml`, line "),
        ("format = 0\n", "has format 0, and this trimbench reads format 1"),
        ("format = 2\nanything = 1\n", "has format 2, and this trimbench reads format 1"),
    ] {
        let message = read(text).unwrap_err().message();
        assert!(message.contains(expected), "{text}: {message}");
    }
}
