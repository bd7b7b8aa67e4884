use trimbench_devices::Consent;

use super::*;

fn options(methods: &[&str], targets: &[&str], settings: &[&str]) -> PlanOptions {
    PlanOptions {
        methods: methods.iter().map(|&it| it.to_owned()).collect(),
        targets: targets.iter().map(OsString::from).collect(),
        settings: settings.iter().map(OsString::from).collect(),
        ..PlanOptions::default()
    }
}

fn read(text: &str) -> Result<PlanOptions, Failure> {
    let mut options = PlanOptions::default();
    Job { name: "run.toml", text }.read_into(&mut options)?;
    Ok(options)
}

#[test]
fn a_job_means_what_the_options_meant_of_which_it_was_made() {
    let default = PlanOptions::default;
    for options in [
        PlanOptions {
            seed: 7,
            ..options(&["delete-stall"], &[], &["window=10s", "sizes=1GB,2GB"])
        },
        PlanOptions {
            limits: vec!["p99.9=5ms".to_owned()],
            preset: "standard".to_owned(),
            ..options(&[], &["sim:vendor2,capacity=32GiB", "/tmp"], &[])
        },
        options(&["delete-stall"], &[], &["window=10s", "deletes=4GiB"]),
        PlanOptions { capacity: Some(Bytes::gib(64)), seed: u64::MAX, ..default() },
        options(&["replay"], &["sim:vendor1"], &["trace=a \"quoted\"\\name\twith everything"]),
        default(),
    ] {
        let plan = Plan::new(&options).unwrap();
        let job = job_text(&options, &plan);
        let again = read(&job).unwrap_or_else(|error| panic!("{}: {job}", error.message()));
        let planned = Plan::new(&again).unwrap();
        let sessions = |plan: &Plan| {
            plan.sessions.iter().map(|session| session.planned.clone()).collect::<Vec<_>>()
        };
        assert_eq!(sessions(&planned), sessions(&plan), "{job}");
        assert_eq!((planned.seed, planned.named), (plan.seed, plan.named), "{job}");
        assert_eq!(planned.limits, plan.limits, "{job}");
        assert_eq!(job_text(&again, &planned), job);
    }
}

#[test]
fn lists_and_numbers_may_be_written_as_toml_has_them() {
    let options = read(
        "format = 1\nmethods = ['delete-stall']\n[settings]\nsizes = ['1GB', '2GB']\n\
         repetitions = 3\n",
    );
    assert_eq!(options.unwrap().settings, ["repetitions=3", "sizes=1GB,2GB"]);
}

#[test]
fn consent_is_refused_wherever_it_stands() {
    for key in CONSENT {
        let failure = read(&format!("format = 1\n\n{key} = ['/dev/vdb']\n")).unwrap_err();
        assert!(failure.message().contains("line 3"), "{}", failure.message());
        let hint = failure.hint.unwrap();
        assert!(hint.contains("on the command line only") && hint.contains(key), "{hint}");
    }
    let consent = Consent {
        destroy: vec!["/dev/vdb".into()],
        signatures: vec!["gpt".to_owned()],
        sole_user: true,
        switch_mount: true,
        command: Some("true".to_owned()),
    };
    let options = PlanOptions { consent, ..options(&[], &["/tmp"], &[]) };
    let mut plan = Plan::new(&PlanOptions::default()).unwrap();
    plan.targets = vec!["/tmp".to_owned()];
    let job = job_text(&options, &plan);
    let given = ["/dev/vdb", "gpt", "sole", "switch-mount"];
    assert!(!given.iter().any(|word| job.contains(word)), "{job}");
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
